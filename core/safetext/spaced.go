package safetext

import "strings"

const (
	// maxUnmarked bounds how far a value is looked at, in bytes, before it is
	// known to be a secret.
	maxUnmarked = 256
	// minUnmarked is the least length in bytes of a secret that only blanks part
	// from its key.
	minUnmarked = 8
	// maxAttributes bounds the attributes between an XML name and its value.
	maxAttributes = 4
)

// spaced returns the secret behind a key with only blanks between, or with a
// verb: "password 'x y'", "apikey 4f2a81c0", "password is S3cr3t99".
func (r *redactor) spaced(key, keyEnd int) (start, end int) {
	s := r.s
	at := skipVerb(s, skipBlanks(s, keyEnd))
	if at == keyEnd || at == len(s) {
		return -1, 0
	}
	name := s[key:keyEnd]
	prompt := name == "AUTH" && atPrompt(s, key)
	if foldedIn(name, "auth") {
		at = skipMechanism(s, at, prompt)
	}
	// The value is looked at first since a name costs more.
	if _, w := quoteAt(s, at); w == 0 && !startsMixed(s, at) || !r.isSecretName(key, keyEnd) {
		return -1, 0
	}
	soft := !hardName(name) || foldedIn(name, "secret", "secrets")
	return r.unmarked(at, soft && !prompt)
}

// isSecretName tells whether the name s[key:keyEnd] ends with a word for a
// secret, so that a value may follow at once. A signature is none in prose,
// where the name of its algorithm follows.
func (r *redactor) isSecretName(key, keyEnd int) bool {
	name := r.s[key:keyEnd]
	if r.classAt(key, keyEnd) != keySecret {
		return false
	}
	last := lastWord(name)
	return endsSecret(name) || foldedIn(last, "key", "keys") ||
		secretWord(last) && !foldedIn(last, "signature", "signatures", "sig")
}

// unmarked returns the value at i that no operator joins to its key: a string,
// or a word that looks random. A soft key also names plain things ("secret
// 'db'", "token 'else'"), so its value must look random in any case.
func (r *redactor) unmarked(i int, soft bool) (start, end int) {
	s := r.s
	window := s[:min(len(s), i+maxUnmarked)]
	if q, w := quoteAt(window, i); w > 0 {
		end, _ = closeQuote(window, i+w, q)
		if content := window[i+w : end]; !startsText(content) || soft && !isRandom(content) {
			return -1, 0
		}
		return r.quoted(i+w, q)
	}
	word := window[i:bareEnd(window, i)]
	switch {
	case !isRandom(word) || strings.Contains(word, "://"):
		return -1, 0
	case soft && (isWordy(word) || strings.Contains(word, "@")):
		return -1, 0
	}
	return i, bareEnd(s, i)
}

// isRandom tells a value that is long enough and has letters and digits.
func isRandom(s string) bool { return len(s) >= minUnmarked && isMixed(s) }

// startsText tells whether the content of a string can be a secret. A blank or
// a comma says that its mark closes another string; a status is no secret.
func startsText(content string) bool {
	return content != "" && !isSpace(content[0]) && content[0] != ',' &&
		!isLiteral(content) && !isStatusWord(content)
}

// startsMixed tells whether the word at i has digits and is long enough for a
// secret. A path, a flag and a bracket start none.
func startsMixed(s string, i int) bool {
	s = s[:min(len(s), i+maxUnmarked)]
	end, seen := i, byte(0)
	for end < len(s) && !isSpace(s[end]) {
		seen |= kinds[s[end]]
		end++
	}
	return end-i >= minUnmarked && seen&kindDigit != 0 && strings.IndexByte("/.~-<([{|", s[i]) < 0
}

// skipBlanks skips white space, plain or encoded, but no line break: what
// follows on the next line is another thing.
func skipBlanks(s string, i int) int {
	for {
		c, w := charAt(s, i)
		if c != ' ' && c != '\t' {
			return i
		}
		i += w
	}
}

// skipVerb skips the verb between a key and its value.
func skipVerb(s string, i int) int {
	if i == len(s) || s[i]|0x20 != 'i' && s[i]|0x20 != 'w' {
		return i
	}
	end := alnumEnd(s[:min(len(s), i+len("was "))], i)
	if end == len(s) || !foldedIn(s[i:end], "is", "was") {
		return i
	}
	if s[end] == ':' {
		end++
	}
	return skipBlanks(s, end)
}

// atPrompt tells whether a command starts at i: at the start of the text or
// behind a prompt.
func atPrompt(s string, i int) bool {
	before := strings.TrimRight(s[max(0, i-4):i], " \t")
	return before == "" && i < 4 || strings.HasSuffix(before, ">")
}

// skipMechanism skips the SASL mechanism at i, which stands between AUTH and
// the credentials, or the user of a command at a prompt.
func skipMechanism(s string, i int, prompt bool) int {
	end := wordEnd(s[:min(len(s), i+maxName)], i)
	at := skipBlanks(s, end)
	if at == end || end == i {
		return i
	}
	if prompt && !startsMixed(s, i) && startsMixed(s, at) {
		return at
	}
	if foldedIn(s[i:end], "plain", "login", "cram-md5", "digest-md5", "scram-sha-1", "scram-sha-256",
		"xoauth2", "oauthbearer", "ntlm", "gssapi", "external") {
		return at
	}
	return i
}

// identified returns the password of SQL's "IDENTIFIED [WITH plugin] BY 'x'",
// where s[i:end] is the last word before it.
func (r *redactor) identified(i, end int) (start, stop int) {
	s := r.s
	if !foldedIn(s[i:end], "by", "as") {
		return -1, 0
	}
	words := strings.Fields(s[max(0, i-maxName):i])
	for back := 1; back <= min(3, len(words)); back++ {
		if foldedIn(words[len(words)-back], "identified") {
			return r.unmarked(skipSpace(s, end), false)
		}
	}
	return -1, 0
}

// attribute returns the value of an XML element that an attribute before it
// names: <add key="Password" value="x">. The name is s[key:keyEnd]; the next
// attribute is expected at i.
func (r *redactor) attribute(key, keyEnd, i int) (start, end int) {
	s := r.s
	if i == len(s) || !isAlnum(s[i]) || !isSpace(s[i-1]) || classify(s[key:keyEnd]) != keySecret {
		return -1, 0
	}
	window := s[:min(len(s), i+maxUnmarked)]
	for range maxAttributes {
		nameEnd := wordEnd(window, i)
		at := skipSpace(window, nameEnd)
		if at == len(window) || window[at] != '=' {
			return -1, 0
		}
		at = skipSpace(window, at+1)
		q, w := quoteAt(window, at)
		if w == 0 {
			return -1, 0
		}
		if foldedIn(window[i:nameEnd], "value") {
			return r.quoted(at+w, q)
		}
		_, at = closeQuote(window, at+w, q)
		i = skipSpace(window, at)
	}
	return -1, 0
}

// minCode is the least length in bytes of a code that a query carries.
const minCode = 12

// code returns the OAuth code of a query ("?code=x"), whose name s[key:keyEnd]
// says nothing elsewhere.
func (r *redactor) code(key, keyEnd int, op operator) (start, end int) {
	s := r.s
	if op.char != '=' || op.loose || !foldedIn(s[key:keyEnd], "code") || !inQuery(s, key) {
		return -1, 0
	}
	start = op.at + op.width
	window := s[:min(len(s), start+maxUnmarked)]
	word := window[start:bareEnd(window, start)]
	if len(word) < minCode || !isMixed(word) && isWordy(word) {
		return -1, 0
	}
	return start, bareEnd(s, start)
}

// inQuery tells whether the name of a URL's parameter starts at i.
func inQuery(s string, i int) bool {
	before := s[max(0, i-len(`\u0026`)):i]
	for _, mark := range [...]string{"?", "&", "%3F", "%3f", "%26", `\u0026`, "&amp;"} {
		if strings.HasSuffix(before, mark) {
			return true
		}
	}
	return false
}
