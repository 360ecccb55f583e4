// Checks checkpoints and proofs with the transparency-log packages of the Go project, which share no code with nightledger. Reads a JSON
// document from standard input, prints how much it has verified, and exits with 1 at the first thing that does not hold.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type document struct {
	Key         string
	Checkpoints []string
	// All entries, in the order of their leaves; a checkpoint is about the first ones.
	Entries     []string
	Consistency []struct {
		From, To int
		Hashes   []tlog.Hash
	}
	Inclusion []struct {
		Size   int
		Index  int64
		Hashes []tlog.Hash
	}
}

type tree struct {
	size int64
	root tlog.Hash
}

func main() {
	var given document
	check(json.NewDecoder(os.Stdin).Decode(&given), "reading the document")
	verifier, err := note.NewVerifier(given.Key)
	check(err, "reading the key")
	trees := map[int]tree{}
	for _, signed := range given.Checkpoints {
		opened, err := note.Open([]byte(signed), note.VerifierList(verifier))
		check(err, "verifying the signature of a checkpoint")
		lines := strings.Split(opened.Text, "\n")
		size, err := strconv.ParseInt(lines[1], 10, 64)
		check(err, "reading the size of a checkpoint")
		root, err := tlog.ParseHash(lines[2])
		check(err, "reading the root of a checkpoint")
		trees[int(size)] = tree{size, root}
	}
	for _, of := range trees {
		root := rootOf(given.Entries[:of.size])
		if root != of.root {
			fail(fmt.Errorf("the root is %v", root), fmt.Sprintf("computing the tree of %d entries", of.size))
		}
	}
	for _, proof := range given.Consistency {
		from, to := trees[proof.From], trees[proof.To]
		check(tlog.CheckTree(proof.Hashes, to.size, to.root, from.size, from.root), fmt.Sprintf("consistency of %d and %d", proof.From, proof.To))
	}
	for _, proof := range given.Inclusion {
		in := trees[proof.Size]
		leaf := tlog.RecordHash([]byte(given.Entries[proof.Index]))
		check(tlog.CheckRecord(proof.Hashes, in.size, in.root, proof.Index, leaf), fmt.Sprintf("entry %d in %d", proof.Index, proof.Size))
	}
	fmt.Printf("%d checkpoints, %d consistency proofs, %d inclusion proofs\n", len(trees), len(given.Consistency), len(given.Inclusion))
}

func rootOf(entries []string) tlog.Hash {
	var stored []tlog.Hash
	read := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		hashes := make([]tlog.Hash, len(indexes))
		for i, index := range indexes {
			hashes[i] = stored[index]
		}
		return hashes, nil
	})
	for i, entry := range entries {
		hashes, err := tlog.StoredHashes(int64(i), []byte(entry), read)
		check(err, "hashing an entry")
		stored = append(stored, hashes...)
	}
	if len(entries) == 0 {
		return sha256.Sum256(nil)
	}
	root, err := tlog.TreeHash(int64(len(entries)), read)
	check(err, "computing a root")
	return root
}

func check(err error, doing string) {
	if err != nil {
		fail(err, doing)
	}
}

func fail(err error, doing string) {
	fmt.Fprintf(os.Stderr, "%s: %v\n", doing, err)
	os.Exit(1)
}
