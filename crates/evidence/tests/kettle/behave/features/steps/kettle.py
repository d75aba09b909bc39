from behave import given, then


@given("a kettle")
def a_kettle(context):
    context.celsius = 20


@then("it boils")
def it_boils(context):
    context.celsius = 100
    assert context.celsius == 100


@then("it overflows")
def it_overflows(context):
    assert context.celsius == 120


@then("it heats to {celsius:d}")
def it_heats(context, celsius):
    context.celsius = celsius
    assert context.celsius == celsius
