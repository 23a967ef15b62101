//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package pool

func descriptorLimit() int { return maxDescriptors }
