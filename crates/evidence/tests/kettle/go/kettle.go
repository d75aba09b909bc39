// Package kettle boils water.
package kettle

type Kettle struct{ Celsius int }

func (k *Kettle) Boil() int {
	// Until it whistles.
	k.Celsius = 100
	return k.Celsius
}

func (k *Kettle) Cool() int {
	k.Celsius = 20
	return k.Celsius
}
