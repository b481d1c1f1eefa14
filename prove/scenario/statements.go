package scenario

import (
	"sync"

	"github.com/ncruces/go-sqlite3"
)

// watched are who looks at the statements of a store, by its path.
var watched sync.Map

var install = sync.OnceFunc(func() {
	sqlite3.AutoExtension(func(c *sqlite3.Conn) error {
		see, ok := watched.Load(c.Filename("main").String())
		if !ok {
			return nil
		}
		return c.Trace(sqlite3.TRACE_STMT, func(_ sqlite3.TraceEvent, _, statement any) error {
			see.(func(string))(statement.(string))
			return nil
		})
	})
})

// OnStatement calls see before each statement on the store of this path, on connections
// that this process opens from now on. It returns how to stop that for later ones.
func OnStatement(path string, see func(statement string)) (stop func()) {
	install()
	watched.Store(path, see)
	return func() { watched.Delete(path) }
}
