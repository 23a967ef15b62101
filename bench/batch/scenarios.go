package main

import (
	"errors"
	"fmt"
	"slices"
)

func (b *bench) six() error {
	loads := []load{
		{"fast", 60_000, "registered"},
		{"slow", 30_000, "registered"},
		{"limited", 60, "registered"},
		{"moody", 30, "registered"},
		{"hole", 100, "failed"},
		{"html", 100, "failed"},
	}
	var alone, beside []float64
	var out *outcome
	for range 3 {
		without, err := b.run(loads[:2], "--max-wait", "60s", "--timeout", "5s")
		if err != nil {
			return err
		}
		if out, err = b.run(loads, "--max-wait", "60s", "--timeout", "5s"); err != nil {
			return err
		}
		alone = append(alone, without.last["fast"].at.Seconds())
		beside = append(beside, out.last["fast"].at.Seconds())
		if err := errors.Join(without.err, out.err); err != nil {
			return err
		}
	}
	slices.Sort(alone)
	slices.Sort(beside)
	fmt.Printf("the fast server's last response arrived after %.2f s, and without the last four servers after %.2f s: %.2f times (medians of %d)\n",
		beside[1], alone[1], beside[1]/alone[1], len(alone))
	fmt.Printf("limited server: %d allowed, %d refused; black hole: %d requests; html: %d requests\n",
		out.end.Limited["limited"].Allowed, out.end.Limited["limited"].Refused, out.end.Requests["hole"], out.end.Requests["html"])
	var errs []error
	if out.last["fast"].row > out.last["hole"].row {
		errs = append(errs, errors.New("the fast server's last row came after the black hole's"))
	}
	if n := out.end.Limited["limited"].Refused; n > 10 {
		errs = append(errs, fmt.Errorf("the limited server refused %d requests", n))
	}
	if n := out.end.Limited["limited"].Allowed; n != max(loads[2].lines/b.scale, 1) {
		errs = append(errs, fmt.Errorf("the limited server answered %d requests for %d lines", n, loads[2].lines))
	}
	return errors.Join(errs...)
}

func (b *bench) million() error {
	return b.parked(8_000_000, 1_000_000, 1_000_000)
}

func (b *bench) order() error {
	b.ordered = true
	return b.parked(800_000, 100_000, 100_000)
}

// parked runs with a server that refuses all requests at first.
func (b *bench) parked(fast, slow, parked int) error {
	out, err := b.run([]load{
		{"fast", fast, "registered"},
		{"slow", slow, "registered"},
		{"parked", parked, "registered"},
	}, "--max-wait", "10m")
	if err != nil {
		return err
	}
	fmt.Printf("parked server: %+v\n", out.end.Limited["parked"])
	if out.memory > b.max<<10 {
		out.err = errors.Join(out.err, fmt.Errorf("%d MiB of memory, limit %d MiB", out.memory>>10, b.max))
	}
	return out.err
}

// growth measures time and memory for different numbers of lines.
func (b *bench) growth() error {
	table := "\n| lines | s | lookups/s | µs of CPU per line | peak MiB |\n| ---: | ---: | ---: | ---: | ---: |\n"
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		out, err := b.run([]load{{"fast", n / 2, "registered"}, {"other", n / 2, "registered"}})
		if err = errors.Join(err, out.err); err != nil {
			return err
		}
		n /= b.scale
		table += fmt.Sprintf("| %d | %.2f | %.0f | %.1f | %d |\n", n, out.took.Seconds(), float64(n)/out.took.Seconds(),
			float64(out.cpu.Microseconds())/float64(n), out.memory>>10)
	}
	fmt.Print(table)
	return nil
}

// run looks up the lines of the given loads in mixed order.
func (b *bench) run(loads []load, flags ...string) (*outcome, error) {
	servers, err := startServers(loads)
	if err != nil {
		return nil, err
	}
	defer servers.stop()
	return b.runAt(servers, loads, flags...)
}

// runAt is like run, with servers that are already running.
func (b *bench) runAt(servers *process, loads []load, flags ...string) (*outcome, error) {
	loads = slices.Clone(loads)
	order, err := b.input(loads)
	if err != nil {
		return nil, err
	}
	if b.ordered {
		flags = append(flags, "--ordered")
	}
	return b.lookUp(servers, loads, order, flags...)
}
