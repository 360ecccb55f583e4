// A webhook receiver for Go 1.18 or newer. No packages beyond the standard library.
//
//	WEBHOOK_SECRET=whsec_… PORT=9000 go run receiver.go
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	toleranceS   = 300
	bodyBytesMax = 1_000_000
)

// isGenuine is true if one of the header's v1 values is ours, over the raw bytes, and its time is near.
// During a rotation there are two v1 values.
func isGenuine(rawBody []byte, header, secret string, now time.Time) bool {
	var t string
	var given []string
	for _, part := range strings.Split(header, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "t":
			t = value
		case "v1":
			given = append(given, value)
		}
	}
	seconds, err := strconv.ParseInt(t, 10, 64)
	if err != nil || now.Unix()-seconds > toleranceS || seconds-now.Unix() > toleranceS {
		return false
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(t + "."))
	mac.Write(rawBody)
	expected := mac.Sum(nil)
	for _, one := range given {
		if bytes, err := hex.DecodeString(one); err == nil && hmac.Equal(bytes, expected) {
			return true
		}
	}
	return false
}

// seen holds ids that were handled. Keep them in your database, under a unique index, for two days.
var seen sync.Map

func receive(w http.ResponseWriter, r *http.Request) {
	rawBody, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyBytesMax))
	if err != nil {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	if !isGenuine(rawBody, r.Header.Get("X-Service-Signature"), os.Getenv("WEBHOOK_SECRET"), time.Now()) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	var event struct {
		ID    string `json:"id"`
		Event string `json:"event"`
		Data  struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.Unmarshal(rawBody, &event) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if _, isRepeated := seen.LoadOrStore(event.ID, true); !isRepeated {
		log.Println(event.Event, event.Data.ID)
	}
	// Answer first, work later: after 10 seconds the delivery counts as failed.
	w.WriteHeader(http.StatusNoContent)
}

func main() {
	port := os.Getenv("PORT")
	if port == "" {
		port = "9000"
	}
	http.HandleFunc("/", receive)
	log.Println("listening", port)
	log.Fatal(http.ListenAndServe("127.0.0.1:"+port, nil))
}
