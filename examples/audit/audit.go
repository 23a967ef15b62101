package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"time"

	_ "github.com/mattn/go-sqlite3" // the driver

	"github.com/rdapq/rdapq/client"
	"github.com/rdapq/rdapq/journal"
	"github.com/rdapq/rdapq/rdap"
)

// An audit looks up all domains of a database.
type audit struct {
	database, journal string
	days              int
	now               time.Time
	out               io.Writer
	config            client.Config
}

// A domain is a row of the database.
type domain struct {
	name string
	rdap []byte // response of the last audit; nil before the first one
}

// A row is a row of the journal.
type row struct {
	Line    int64           `json:"line"` // position of the domain in the order of names
	Verdict client.Verdict  `json:"verdict"`
	Name    string          `json:"name"`
	Time    time.Time       `json:"time"`
	Error   string          `json:"error,omitempty"`
	RDAP    json.RawMessage `json:"rdap,omitempty"`
}

// run looks up the domains that have no row in the journal. When all have one, it prints
// the report, stores the responses, and removes the journal.
func (a *audit) run(ctx context.Context) (err error) {
	db, err := sql.Open("sqlite3", a.database)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	domains, err := load(ctx, db)
	if err != nil {
		return err
	}
	if err := a.lookUp(ctx, domains); err != nil {
		return err
	}
	rows, err := a.rows()
	if err != nil {
		return err
	}
	for _, r := range rows {
		a.report(domains[r.Line-1], r)
	}
	if err := store(ctx, db, rows); err != nil {
		return err
	}
	return errors.Join(os.Remove(a.journal), journal.Discard(a.journal)) // the next audit starts over
}

func load(ctx context.Context, db *sql.DB) (domains []domain, err error) {
	rows, err := db.QueryContext(ctx, "SELECT name, rdap FROM domains ORDER BY name")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var d domain
		if err := rows.Scan(&d.name, &d.rdap); err != nil {
			return nil, err
		}
		domains = append(domains, d)
	}
	return domains, rows.Err()
}

// lookUp completes the journal.
func (a *audit) lookUp(ctx context.Context, domains []domain) (err error) {
	// An audit of other domains is not the same one: the journal refuses to resume it.
	var names strings.Builder
	for _, d := range domains {
		fmt.Fprintln(&names, d.name)
	}
	input, err := journal.Fingerprint(a.database, strings.NewReader(names.String()))
	if err != nil {
		return err
	}
	j, err := journal.Open(a.journal, journal.Config{
		Input:   input,
		Ordered: true,
		Retry: func(verdict string) bool {
			return verdict == string(client.VerdictFailed) || verdict == string(client.VerdictRateLimited)
		},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	if j.Past().Complete {
		return nil
	}
	c, err := client.New(a.config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()

	inputs, failed := needed(j, domains)
	batch := c.Batch(ctx, inputs)
	for r := range batch.All() {
		if ctx.Err() != nil {
			continue // no row: the next run looks the domain up
		}
		text, err := encode(domains[r.Line-1].name, r)
		if err != nil {
			return err
		}
		if err := j.Write(r.Line, text); err != nil {
			return err
		}
	}
	if err := errors.Join(*failed, batch.Err()); err != nil {
		return err // the rows so far are in the journal
	}
	return j.Complete()
}

// needed returns the domains that need a row. The error is set before the end of the
// sequence.
func needed(j *journal.Journal, domains []domain) (iter.Seq2[client.Input, error], *error) {
	failed := new(error)
	return func(yield func(client.Input, error) bool) {
		for i, d := range domains {
			line := int64(i + 1)
			need, err := j.Begin(line)
			if err != nil {
				*failed = err
				return
			}
			if need && !yield(client.Input{Line: line, Text: d.name, Type: client.TypeDomain}, nil) {
				return
			}
		}
	}, failed
}

// encode returns the row of a result, with its line end.
func encode(name string, r *client.Result) ([]byte, error) {
	text := row{Line: r.Line, Verdict: r.Verdict, Name: name, Time: r.Time.UTC()}
	if err := r.Err(); err != nil {
		text.Error = err.Error()
	} else if r.Verdict == client.VerdictRegistered {
		response, err := r.Response()
		if err != nil {
			return nil, err
		}
		if text.RDAP, _, err = response.AppendCompact(nil); err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // the response as the server sent it
	err := e.Encode(text)
	return b.Bytes(), err
}

// rows returns the rows of the journal.
func (a *audit) rows() (rows []row, err error) {
	data, err := os.ReadFile(a.journal)
	if err != nil {
		return nil, err
	}
	for text := range bytes.Lines(data) {
		var r row
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// report prints what is remarkable about a domain.
func (a *audit) report(old domain, r row) {
	if r.Error != "" {
		fmt.Fprintf(a.out, "%s: %s: %s\n", r.Name, r.Verdict, r.Error)
		return
	}
	if r.Verdict == client.VerdictNotFound {
		fmt.Fprintf(a.out, "%s: not registered\n", r.Name)
		return
	}
	record, err := rdap.Read(r.RDAP)
	if err != nil {
		fmt.Fprintf(a.out, "%s: %v\n", r.Name, err)
		return
	}
	life := rdap.LifecycleOf(record, a.now)
	if !life.Expires.IsZero() && life.DaysLeft <= a.days {
		fmt.Fprintf(a.out, "%s: %s, %d days left\n", r.Name, life.Phase, life.DaysLeft)
	}
	if old.rdap == nil {
		return // the first audit
	}
	before, err := rdap.Read(old.rdap)
	if err != nil {
		fmt.Fprintf(a.out, "%s: last audit: %v\n", r.Name, err)
		return
	}
	for _, c := range rdap.Diff(before, record) {
		fmt.Fprintf(a.out, "%s: %s: %s -> %s\n", r.Name, c.Field, list(c.Old), list(c.New))
	}
}

func list(values []string) string {
	if len(values) == 0 {
		return "none"
	}
	return strings.Join(values, ", ")
}

// store stores the responses of an audit. A domain without an answer keeps its old one.
func store(ctx context.Context, db *sql.DB, rows []row) (err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	update, err := tx.PrepareContext(ctx, "UPDATE domains SET rdap = ?, checked = ? WHERE name = ?")
	if err != nil {
		return err
	}
	defer update.Close()
	for _, r := range rows {
		if r.Error != "" {
			continue
		}
		if _, err := update.ExecContext(ctx, []byte(r.RDAP), r.Time.Format(time.RFC3339), r.Name); err != nil {
			return err
		}
	}
	return tx.Commit()
}
