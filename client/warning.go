package client

// A Warning is something that was unusual about a result which is good otherwise.
type Warning struct {
	Code    WarningCode
	Message string // one sentence for people; safe to print
}

// A WarningCode says what kind of warning it is. New ones may be added; none changes
// its meaning.
type WarningCode string

// Codes of a [Warning].
const (
	WarnQuery               WarningCode = "query"                  // how the text of the query was read: see [Query.Note]
	WarnOtherServer         WarningCode = "other_server"           // another server was asked because one failed
	WarnDesync              WarningCode = "desync"                 // see [Result.Desync]
	WarnOtherObject         WarningCode = "other_object"           // see [Result.Other]
	WarnExtent              WarningCode = "extent"                 // a network or block of AS numbers that is not what was queried, but holds some of it
	WarnTruncated           WarningCode = "truncated"              // the server says that the response is not whole (RFC 9083 section 10.2.1)
	WarnMediaType           WarningCode = "media_type"             // the media type or charset is not that of RDAP
	WarnErrorBody           WarningCode = "error_body"             // the body of an error is not what its status says, not whole or not RDAP
	WarnNotFoundWithoutRDAP WarningCode = "not_found_without_rdap" // see [Result.IsNotFoundWithoutRDAP]
	WarnIncomplete          WarningCode = "incomplete"             // there are more results of a search: see [Paging]
	WarnNotAnnounced        WarningCode = "not_announced"          // an option was omitted because the server does not announce it
	WarnNoLink              WarningCode = "no_link"                // the record has no link of Config.Related
	WarnLinksCut            WarningCode = "links_cut"              // related links were not followed to their end
	WarnRedacted            WarningCode = "redacted"               // a secret was replaced in the result
)

// warn adds a warning.
func (r *Result) warn(code WarningCode, message string) {
	r.Warnings = append(r.Warnings, Warning{code, message})
}

// String returns the message.
func (w Warning) String() string { return w.Message }
