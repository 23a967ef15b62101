//go:build !unix && !windows

package measure

import "time"

// processorTime is not known here.
func processorTime() time.Duration { return 0 }
