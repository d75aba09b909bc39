package shop;

import static org.junit.Assert.assertEquals;

import org.junit.Ignore;
import org.junit.Test;

public class KettleTest {
    static int attempts;

    @Test
    public void boils() {
        assertEquals(100, 20 + 80);
    }

    @Test
    public void overflows() {
        assertEquals(120, 100);
    }

    @Test
    @Ignore("no lime in it yet")
    public void descales() {
    }

    @Test
    public void whistles() {
        attempts += 1;
        assertEquals(2, attempts);
    }
}
