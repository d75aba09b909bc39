package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.fail;

import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import org.junit.jupiter.api.Disabled;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KettleTest {
    static int attempts;

    @Test
    void boils() {
        assertEquals(100, new Kettle(20).boil());
    }

    @Test
    void overflows() {
        assertEquals(120, new Kettle(20).boil());
    }

    @Test
    @Disabled("no lime in it yet")
    void descales() {
        fail();
    }

    @Test
    void whistles() {
        attempts += 1;
        assertEquals(2, attempts);
    }

    @ParameterizedTest
    @ValueSource(ints = {80, 100})
    void heats(int celsius) {
        assertEquals(celsius, new Kettle(celsius).celsius());
    }

    @ParameterizedTest
    @ValueSource(ints = {80, 100})
    void leaks(int celsius) {
        assertEquals(80, celsius);
    }

    @TestFactory
    Stream<DynamicTest> pours() {
        return Stream.of("first cup", "second cup")
            .map(cup -> DynamicTest.dynamicTest(cup, () -> assertEquals(20, new Kettle(100).cool())));
    }

    @Nested
    class WhenEmpty {
        @Test
        void staysCold() {
            assertEquals(20, new Kettle(20).celsius());
        }
    }

    @Test
    @Timeout(value = 300, unit = TimeUnit.MILLISECONDS)
    void hangs() throws InterruptedException {
        Thread.sleep(60_000);
    }

    @Test
    @Tag("slow")
    void cools() {
        assertEquals(20, new Kettle(100).cool());
    }
}
