Feature: Kettle

  Scenario: boils
    Given a kettle
    Then it boils

  Scenario: overflows
    Given a kettle
    Then it overflows

  @skip
  Scenario: descales
    Given a kettle
    Then it overflows

  Scenario Outline: heats to <celsius>
    Given a kettle
    Then it heats to <celsius>

    Examples:
      | celsius |
      | 80      |
      | 100     |
