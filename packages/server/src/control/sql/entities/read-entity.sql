SELECT kind, id, parent, revision, sequence, body FROM entities WHERE kind = $1 AND id = $2
