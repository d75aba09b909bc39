"""A kettle."""


class Kettle:
    def __init__(self, celsius=20):
        # Cold water comes from the tap.
        self.celsius = celsius

    def boil(self):
        """Heats the water until it boils."""
        self.celsius = 100
        return self.celsius

    def cool(self):
        self.celsius = 20
        return self.celsius
