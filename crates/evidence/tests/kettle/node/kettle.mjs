export class Kettle {
  constructor(celsius = 20) {
    this.celsius = celsius;
  }

  boil() {
    // Until it whistles.
    this.celsius = 100;
    return this.celsius;
  }

  cool() {
    this.celsius = 20;
    return this.celsius;
  }
}
