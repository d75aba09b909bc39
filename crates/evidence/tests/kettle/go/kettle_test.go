package kettle

import (
	"fmt"
	"os"
	"testing"
	"time"
)

func TestBoils(t *testing.T) {
	if (&Kettle{20}).Boil() != 100 {
		t.Fatal("cold")
	}
}

func TestOverflows(t *testing.T) {
	if (&Kettle{20}).Boil() != 120 {
		t.Fatal("not hot enough")
	}
}

func TestDescales(t *testing.T) {
	t.Skip("no lime in it yet")
}

func TestHeats(t *testing.T) {
	for _, celsius := range []int{80, 100} {
		t.Run(fmt.Sprint(celsius), func(t *testing.T) {
			if (&Kettle{celsius}).Celsius != celsius {
				t.Fatal("cold")
			}
		})
	}
}

func TestLeaks(t *testing.T) {
	for _, celsius := range []int{80, 100} {
		t.Run(fmt.Sprint(celsius), func(t *testing.T) {
			if celsius != 80 {
				t.Fatal("leaks")
			}
		})
	}
}

func TestPours(t *testing.T) {
	t.Run("first cup", func(t *testing.T) { (&Kettle{20}).Cool() })
	t.Run("second cup", func(t *testing.T) { (&Kettle{20}).Cool() })
}

func TestIdles(t *testing.T) {
	t.Run("first cup", func(t *testing.T) { t.Skip("nobody is thirsty") })
	t.Run("second cup", func(t *testing.T) { t.Skip("nobody is thirsty") })
}

func TestCools(t *testing.T) {
	(&Kettle{20}).Cool()
}

func TestExplodes(t *testing.T) {
	os.Exit(3)
}

func TestHangs(t *testing.T) {
	time.Sleep(time.Minute)
}
