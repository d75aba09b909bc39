//! A kettle.

pub struct Kettle {
    pub celsius: u32,
}

impl Kettle {
    pub fn boil(&mut self) -> u32 {
        // Until it whistles.
        self.celsius = 100;
        self.celsius
    }

    pub fn cool(&mut self) -> u32 {
        self.celsius = 20;
        self.celsius
    }
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::Duration;

    use super::Kettle;

    #[test]
    fn boils() {
        assert_eq!(Kettle { celsius: 20 }.boil(), 100);
    }

    #[test]
    fn overflows() {
        assert_eq!(Kettle { celsius: 20 }.boil(), 120);
    }

    #[test]
    #[ignore = "no lime in it yet"]
    fn descales() {
        panic!();
    }

    // nextest says which attempt it is; without retries there is only the first.
    #[test]
    fn whistles() {
        assert_eq!(std::env::var("NEXTEST_ATTEMPT").as_deref(), Ok("2"));
    }

    #[test]
    fn heats() {
        for celsius in [80, 100] {
            assert_eq!(Kettle { celsius }.celsius, celsius);
        }
    }

    #[test]
    fn leaks() {
        for celsius in [80, 100] {
            assert_eq!(celsius, 80);
        }
    }

    #[test]
    fn cools() {
        assert_eq!(Kettle { celsius: 100 }.cool(), 20);
    }

    #[test]
    fn explodes() {
        std::process::abort();
    }

    #[test]
    fn hangs() {
        sleep(Duration::from_secs(60));
    }
}
