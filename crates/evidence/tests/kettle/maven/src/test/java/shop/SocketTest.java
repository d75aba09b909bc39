package shop;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class SocketTest {
    @BeforeAll
    static void power() {
        throw new IllegalStateException("no power");
    }

    @Test
    void plugsIn() {
    }
}
