package shop;

public class Kettle {
    private int celsius;

    public Kettle(int celsius) {
        this.celsius = celsius;
    }

    public int celsius() {
        return celsius;
    }

    public int boil() {
        // Until it whistles.
        celsius = 100;
        return celsius;
    }

    public int cool() {
        celsius = 20;
        return celsius;
    }
}
