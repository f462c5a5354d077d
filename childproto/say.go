package childproto

// AppendMessage appends to dst the line, line end included, by which a child
// says m. Result, receipt and fields must be strict JSON; they go through byte
// for byte, unless they hold a line end: then without their white space.
func AppendMessage(dst []byte, m *Message) []byte {
	dst = append(dst, `{"type":"`...)
	dst = append(dst, m.Type...)
	dst = append(dst, '"')
	if m.HasID {
		dst = appendInt(dst, "id", m.ID)
	}
	switch m.Type {
	case TypeReady:
		dst = appendInt(dst, "protocol", int64(m.Protocol))
	case TypeDone:
		if m.Result != nil {
			dst = appendValue(dst, "result", m.Result)
		}
	case TypeRetry, TypeSnooze, TypeDead, TypeUncertain:
		dst = appendOutcome(dst, m)
	case TypeEffect, TypeReceipt, TypeVoid:
		dst = appendEffect(dst, m)
	case TypeProgress:
		if m.Percent != nil {
			dst = appendFloat(dst, "percent", *m.Percent)
		}
		if m.Text != "" {
			dst = appendString(dst, "message", m.Text)
		}
	case TypeLog:
		dst = appendString(dst, "level", m.Level)
		dst = appendString(dst, "message", m.Text)
		if m.Fields != nil {
			dst = appendValue(dst, "fields", m.Fields)
		}
	}
	return append(dst, "}\n"...)
}

func appendOutcome(dst []byte, m *Message) []byte {
	if m.Type != TypeSnooze {
		dst = appendString(dst, "reason", m.Reason)
	}
	if m.After != nil {
		dst = appendInt(dst, "after_ms", milliseconds(*m.After))
	}
	return dst
}

func appendEffect(dst []byte, m *Message) []byte {
	dst = appendString(dst, "name", m.Name)
	switch m.Type {
	case TypeEffect:
		if m.Repeatable {
			dst = append(dst, `,"repeatable":true`...)
		}
	case TypeReceipt:
		dst = appendValue(dst, "receipt", m.Receipt)
	case TypeVoid:
		dst = appendString(dst, "reason", m.Reason)
	}
	return dst
}
