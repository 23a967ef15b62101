package rdap

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestContact(t *testing.T) {
	tests := []struct {
		name, card string
		want       Contact
		problems   []string
	}{
		{
			"three elements, lists for parameters, junk",
			`["vcard",[["version",[],"text","4.0"],["fn",[],"text","Gamma Networks"],["lang",{"type":"language-tag"},"pt"],
			 ["tel",{"type":["voice"]},"uri","tel:+1-555-0177"],[],["email"],"junk",null,["email",{},["text"],"x@gamma.example"],[{},{},"text","x"],["title","x","text","y"],
			 ["note",{},"text",{"a":[1]}],["email",{},"text",null],["role",null,"text","NOC"]]]`,
			Contact{Name: "Gamma Networks", Role: "NOC", Phones: []Phone{{Number: "+1-555-0177", Types: []string{"voice"}}}, Others: 1},
			[]string{
				"vcardArray[1][0][1] and 1 more: expected parameters, found an array",
				"vcardArray[1][2]: property has only three elements (lost)",
				"vcardArray[1][4]: property has no elements (lost)",
				"vcardArray[1][5]: property has only one element (lost)",
				"vcardArray[1][6]: expected a property, found a string (lost)",
				"vcardArray[1][7]: expected a property, found null (lost)",
				"vcardArray[1][8]: property has no type (lost)",
				"vcardArray[1][9]: property has no name (lost)",
				"vcardArray[1][10]: property has no parameters (lost)",
				"vcardArray[1][13][1]: expected parameters, found null",
			},
		},
		{
			"addresses",
			`["vcard",[["adr",{"cc":"CA"},"text",["PO 1",["Suite 1","Floor 2"],"4 Rue","Quebec","QC","G1V 2M2","Canada"]],
			 ["adr",{"label":"1 Road\nTown"},"text",["","","","","","",""]],["adr",{"label":["a","b"]},"text",""],
			 ["adr",{"label":"c\\nd"},"text",["","","","","","",""]],["adr",{},"text","5 Lane\nCity"],["adr",{},"text",["","","","","","",""]],
			 ["adr",{},"text",["1 Short","Way"],"more"]]]`,
			Contact{Addresses: []Address{
				{Lines: []string{"PO 1", "Suite 1", "Floor 2", "4 Rue", "Quebec", "QC", "G1V 2M2"}, Country: "Canada", CountryCode: "CA"},
				{Lines: []string{"1 Road", "Town"}},
				{Lines: []string{"a", "b"}},
				{Lines: []string{"c", "d"}},
				{Lines: []string{"5 Lane", "City"}},
				{Lines: []string{"1 Short", "Way"}},
			}},
			nil,
		},
		{
			"telephones",
			`["vcard",[["tel",{"type":"VOICE"},"uri","TEL:+1-555;ext=102;phone-context=x"],["tel",{"type":["Work","fax"]},"text","+1 555 9"],
			 ["tel",{"ext":"8"},"text","55 1"],["tel",{},"uri","tel:"],["tel",{},"text",""],["tel",{},"text",5550100]]]`,
			Contact{Phones: []Phone{
				{Number: "+1-555", Ext: "102", Types: []string{"voice"}},
				{Number: "+1 555 9", Types: []string{"work", "fax"}},
				{Number: "55 1", Ext: "8"},
				{Number: "5550100"},
			}},
			nil,
		},
		{
			"names and the rest",
			`["vcard",[["N",{},"text",["Meunier",["Jean","Luc"],"","",""]],["FN",{},"text",""],["org",{},"text",["Big","Unit"]],["org",{},"text","Second"],
			 ["email",{},"text","a@x.example","b@x.example"],["email",{},"text","mailto:c@x.example"],["contact_URI",{},"uri","https://x.example/c"],
			 ["CONTACT-URI",{},"uri","mailto:d@x.example"],["url",{},"uri","https://x.example"],["lang",{"pref":"1"},"language-tag","fr"],
			 ["kind",{},"text","Individual"],["title",{},"text","Dr"],["x-a",{},"unknown",1,2],["note",{},"text","n"]]]`,
			Contact{
				Name: "Meunier, Jean, Luc", Kind: "individual", Org: "Big, Unit", Title: "Dr",
				Emails:      []string{"a@x.example", "b@x.example", "c@x.example"},
				ContactURIs: []string{"https://x.example/c", "mailto:d@x.example"}, URLs: []string{"https://x.example"}, Langs: []string{"fr"}, Others: 2,
			},
			nil,
		},
		{"without the word", `[[["fn",{},"text","Bare"]]]`, Contact{Name: "Bare"}, nil},
		{"an object", `{}`, Contact{}, []string{"vcardArray: expected properties, found an object (lost)"}},
		{"null", `null`, Contact{}, nil},
		{"properties that are none", `["vcard",{"x":"x"},"vcard"]`, Contact{}, []string{
			"vcardArray[1]: expected properties, found an object (lost)",
			`vcardArray[2]: jCard does not begin with "vcard" and an array`,
		}},
		{
			"flat", `["vcard",["version",{},"text","4.0"],["fn",{},"text","Flat"],["email",{"type":"work"},"text","a@x.example"],["tel",[],"uri","tel:+1"]]`,
			Contact{Name: "Flat", Emails: []string{"a@x.example"}, Phones: []Phone{{Number: "+1"}}},
			[]string{"vcardArray: jCard properties are not in an array of their own", "vcardArray[4][1]: expected parameters, found an array"},
		},
		{"one property", `["vcard",["fn",{},"text","Flat"]]`, Contact{Name: "Flat"}, []string{"vcardArray: jCard properties are not in an array of their own"}},
		{"without the word, flat", `[["fn",{},"text","Flat"],["org",null,"text","O"]]`, Contact{Name: "Flat", Org: "O"}, []string{
			"vcardArray: jCard properties are not in an array of their own", "vcardArray[1][1]: expected parameters, found null",
		}},
		{"nothing but a property", `["fn",{},"text","Flat"]`, Contact{Name: "Flat"}, []string{"vcardArray: jCard properties are not in an array of their own"}},
		{
			"members", `{"version":"4.0","fn":"Object","email":["a@x.example","b@x.example"],"org":["Big","Unit"],"tel":"+1","adr":["","","1 Way","Town","","","XX"],"note":"n"}`,
			Contact{
				Name: "Object", Org: "Big, Unit", Emails: []string{"a@x.example", "b@x.example"}, Phones: []Phone{{Number: "+1"}},
				Addresses: []Address{{Lines: []string{"1 Way", "Town"}, Country: "XX"}}, Others: 1,
			},
			[]string{"vcardArray: jCard is an object, not an array"},
		},
		{"members in the array", `["vcard",{"fn":"Object"}]`, Contact{Name: "Object"}, []string{"vcardArray: jCard is an object, not an array"}},
		{
			"properties as objects", `["vcard",[{"name":"fn","type":"text","value":"Dict"},{"value":"tel:+1;ext=2","name":"TEL","parameters":{"type":"voice"}},{"name":"x-a","value":1}]]`,
			Contact{Name: "Dict", Phones: []Phone{{Number: "+1", Ext: "2", Types: []string{"voice"}}}, Others: 1},
			[]string{"vcardArray: property is an object, not an array"},
		},
		{
			"too deep", `["vcard",[[["fn",{},"text","Deep"],["email",{},"text","a@x.example"]]]]`,
			Contact{Name: "Deep", Emails: []string{"a@x.example"}},
			[]string{"vcardArray: jCard properties are nested in one array too many"},
		},
		{
			"too deep as a whole", `[["vcard",[["fn",{},"text","Deep"]]]]`,
			Contact{Name: "Deep"},
			[]string{"vcardArray: jCard properties are nested in one array too many"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rec, err := Read([]byte(`{"objectClassName":"entity","vcardArray":` + tt.card + `}`))
			if err != nil {
				t.Fatal(err)
			}
			got := rec.Contact()
			if d := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(Contact{}, "Problems")); d != "" {
				t.Errorf("contact (-want +got):\n%s", d)
			}
			if d := cmp.Diff(tt.problems, problemLines(got.Problems)); d != "" {
				t.Errorf("problems (-want +got):\n%s", d)
			}
		})
	}
}

func TestContactJSContact(t *testing.T) {
	got := read(t, "jscontact").Entities[0].Contact()
	want := Contact{
		Name: "Karten Registrar", Kind: "org", Org: "Karten Registrar GmbH, Vertrieb",
		Emails: []string{"info@karten.example"}, Langs: []string{"de"}, URLs: []string{"https://karten.example/"},
		Phones: []Phone{{Number: "+49-30-555-0100", Ext: "12", Types: []string{"voice", "work"}}},
		Addresses: []Address{
			{Lines: []string{"5", "Allee", "Berlin"}, Country: "Germany", CountryCode: "DE"},
			{Lines: []string{"Postfach 1", "10115 Berlin"}},
		},
		Others: 1,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	// An empty JSContact card does not hide the jCard.
	rec, err := Read([]byte(`{"objectClassName":"entity","jscard":{"@type":"Card","kind":"org"},"vcardArray":["vcard",[["fn",{},"text","Old"]]]}`))
	if err != nil || rec.Contact().Name != "Old" {
		t.Errorf("%+v, %v", rec.Contact(), err)
	}
}

func TestCardProblemPaths(t *testing.T) {
	body := `{"objectClassName":"domain","entities":[null,{"roles":["registrar"],"entities":[{"roles":["abuse"],"vcardArray":["vcard",[["email"]]]}]}]}`
	_, problems, err := Summarize([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"entities[0]: null in an array", "entities[1].entities[0].vcardArray[1][0]: property has only one element (lost)"}
	if d := cmp.Diff(want, problemLines(problems)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
