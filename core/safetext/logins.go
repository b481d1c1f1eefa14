package safetext

import "strings"

// The programs that a text names, as bits, since their flags mean what they
// mean nowhere else.
const (
	toolCurl   = 1 << iota
	toolMySQL  // takes "-ppassword"
	toolLogin  // takes "-p password" once
	toolOracle // takes "user/password@host"
	toolDocker // has a command "login"
)

// program notes that a text names a program or one of its commands.
func (r *redactor) program(name string) {
	switch name {
	case "curl":
		r.tools |= toolCurl
	case "mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlcheck", "mysqlpump",
		"mariadb", "mariadb-dump", "mariadb-admin":
		r.tools |= toolMySQL
	case "sqlplus", "expdp", "impdp", "sqlldr", "rman":
		r.tools |= toolOracle
	case "docker", "podman", "nerdctl", "buildah", "skopeo", "helm", "oras", "az", "oc", "cf":
		r.tools |= toolDocker
	case "login":
		if r.tools&toolDocker != 0 {
			r.tools |= toolLogin
		}
	case "sshpass":
		r.tools |= toolLogin
	case "ssh", "scp", "sftp", "rsync", "run":
		r.tools &^= toolLogin
	case "mkdir", "tar":
		r.tools &^= toolLogin | toolMySQL
	}
}

// userFlag returns the value of curl's "-u user:password" and its other forms.
func (r *redactor) userFlag(i int) (start, end int) {
	s := r.s
	name := s[i:wordEnd(s[:min(len(s), i+maxName)], i)]
	at := i + len(name)
	curl := r.tools&toolCurl != 0
	switch {
	case name == "-u" || name == "-U" || name == "--user" || name == "--proxy-user":
		if at < len(s) && s[at] == '=' {
			at++
		}
		at = skipSpace(s, at)
	case curl && strings.HasPrefix(name, "-u"):
		at = i + len("-u")
	default:
		return -1, 0
	}
	if r.startsOtherLine(at) {
		return -1, 0
	}
	start, end = at, bareEnd(s, at)
	if q, w := quoteAt(s, at); w > 0 {
		if start, end = r.quoted(at+w, q); start < 0 {
			return -1, 0
		}
	}
	user, password, found := strings.Cut(s[start:end], ":")
	if !found || strings.HasPrefix(password, "//") {
		return -1, 0
	}
	// Other programs take the numbers of a user and a group.
	if !curl && isNumber(user) && isNumber(password) {
		return -1, 0
	}
	return start, end
}

// passwordFlag returns the password behind the "-p" at i of a program that
// takes one there.
func (r *redactor) passwordFlag(i int) (start, end int) {
	s := r.s
	if r.tools&(toolMySQL|toolLogin) == 0 || !strings.HasPrefix(s[i:], "-p") {
		return -1, 0
	}
	at := i + len("-p")
	listed := i > 0 && at < len(s) && isQuote(s[at]) && s[at] == s[i-1]
	if at < len(s) && !isSpace(s[at]) && !listed {
		return r.attachedPassword(at)
	}
	if r.tools&toolLogin == 0 {
		return -1, 0
	}
	// What the program starts may have a "-p" of its own.
	r.tools &^= toolLogin
	op, quoted := r.operator(at)
	start, end = r.flagValue(op.at, quoted)
	if start >= 0 && isPort(s[start:end]) {
		return -1, 0
	}
	return start, end
}

// attachedPassword returns the password at i right behind a "-p", up to the
// mark that closes a string which starts with the flag. Less than four bytes are
// flags of another program ("cp -pr").
func (r *redactor) attachedPassword(i int) (start, end int) {
	if mark := i - len("'-p"); mark >= 0 && isQuote(r.s[mark]) {
		escapes, _ := escapesBefore(r.s, 0, mark)
		return r.quoted(i, quote{r.s[mark : mark+1], escapes})
	}
	if r.s[i] == '=' {
		i++
	}
	start, end = r.value(i, keySecret, operator{char: '='}, true)
	if start == i && end-start < 4 {
		return -1, 0
	}
	return start, end
}

// isPort tells a port or a pair of ports ("8080:80"), perhaps with an address.
func isPort(s string) bool {
	return strings.Trim(s, "0123456789.:") == "" && (len(s) <= len("65535") || strings.Contains(s, ":"))
}

// login returns the password of "user:password@host" without a scheme, and of
// Oracle's "user/password@host", where the user is s[i:end].
func (r *redactor) login(i, end int) (start, stop int) {
	s := r.s
	if end >= len(s) || s[end] != ':' && s[end] != '/' || r.atSign(end) < 0 {
		return -1, 0
	}
	start = end + 1
	stop = loginEnd(s, start)
	if stop <= start {
		return -1, 0
	}
	if s[end] == '/' {
		if r.tools&toolOracle == 0 && !strings.HasSuffix(s[:i], "thin:") && !strings.HasSuffix(s[:i], "oci:") {
			return -1, 0
		}
		return start, stop
	}
	if isDigit(s[i]) || !isPassword(s[start:stop]) || !startsHost(s, stop+1) || isAddress(s[i:end], s[start:stop]) {
		return -1, 0
	}
	return start, stop
}

// loginEnd returns the index of the "@" behind the password that starts at i,
// or -1. It is the last one, since a password may have some too.
func loginEnd(s string, i int) int {
	at := -1
	for end := min(len(s), i+maxUnmarked); i < end; i++ {
		switch c := s[i]; {
		case c == '@':
			at = i
		case isSpace(c) || isQuote(c) || strings.IndexByte("/<>", c) >= 0:
			return at
		case at >= 0 && strings.IndexByte(",;()", c) >= 0:
			return at
		}
	}
	return at
}

// isPassword tells whether the text between a user and an "@" is opaque. A port
// before a query and positions in a file are not.
func isPassword(s string) bool {
	if len(s) < 6 {
		return false
	}
	rest := strings.TrimLeft(s, "0123456789")
	if rest != s && rest != "" && strings.IndexByte("?#", rest[0]) >= 0 {
		return false
	}
	return strings.ContainsAny(s, "0123456789") && (isMixed(s) || strings.ContainsAny(s, "!#$%^&*+=~?"))
}

// startsHost tells whether the name or address of a host stands at i, and not
// the version or the digest of a package. A text may be cut right before it.
func startsHost(s string, i int) bool {
	if i == len(s) || s[i] == '[' || isSpace(s[i]) {
		return true
	}
	window := s[:min(len(s), i+maxName)]
	end := wordEnd(window, i)
	name := window[i:end]
	switch {
	case name == "":
		return false
	case isDigit(s[i]):
		return isIPv4(window[i:])
	case s[i] == 'v' && len(name) > 1 && isDigit(name[1]):
		return false
	}
	return !hashName(name) && !foldedIn(name, "latest", "next", "main", "master", "head", "stable", "beta")
}

// isIPv4 tells whether s starts with four numbers.
func isIPv4(s string) bool {
	end := 0
	for end < len(s) && (isDigit(s[end]) || s[end] == '.') {
		end++
	}
	return strings.Count(strings.TrimRight(s[:end], "."), ".") == 3
}

// isAddress tells whether a word and the name behind its colon are a label and
// an email address or a package, or a hash.
func isAddress(label, name string) bool {
	return isDigest(name) && hashName(label) || isWordy(name) && foldedIn(label, "mailto", "email", "mail", "from", "to", "cc", "bcc", "sender",
		"recipient", "user", "username", "login", "account", "owner", "author", "contact", "by", "sip",
		"sips", "xmpp", "acct", "npm", "jsr", "workspace")
}
