package broken

import "testing"

func TestImports(t *testing.T) {
	missing()
}
