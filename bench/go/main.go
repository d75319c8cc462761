// A client of the hub as users have it: grpc-go and generated messages, by the older calls. It says when it
// begins to count, and a moment later what it counted, as one line of JSON.
//
// The messages in wire/ are made when it is built: see bench/src/compare/scene/older.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"agenthub-bench/wire/a2a"
	"agenthub-bench/wire/agenthub"
)

const topic = "bench"

var (
	address     = flag.String("address", "", "where the hub is")
	inFlight    = flag.Int("in-flight", 64, "publishes that are unanswered at a time")
	subscribers = flag.Int("subscribers", 0, "server streams, each over a connection of its own")
	window      = flag.Int64("window", 256, "messages on the way to each subscriber")
	textBytes   = flag.Int("text-bytes", 256, "the size of a message's text")
	warmUp      = flag.Duration("warm-up", 500*time.Millisecond, "how long nothing counts")
	length      = flag.Duration("length", time.Second, "how long it counts")
)

var published, delivered atomic.Int64

func main() {
	flag.Parse()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	for number := range *subscribers {
		if err := subscribe(ctx, fmt.Sprintf("s%d", number)); err != nil {
			log.Fatalf("subscribing: %v", err)
		}
	}
	hub, err := dial()
	if err != nil {
		log.Fatalf("connecting: %v", err)
	}
	var room chan struct{}
	if *subscribers > 0 {
		room = make(chan struct{}, *window)
		go admit(room)
	}
	for publisher := range *inFlight {
		go publish(ctx, hub, publisher, room)
	}

	time.Sleep(*warmUp)
	fmt.Println("counting")
	began := time.Now()
	publishes, deliveries := published.Load(), delivered.Load()
	time.Sleep(*length)
	publishes, deliveries = published.Load()-publishes, delivered.Load()-deliveries
	err = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"publishes":  publishes,
		"deliveries": deliveries,
		"seconds":    time.Since(began).Seconds(),
	})
	if err != nil {
		log.Fatal(err)
	}
}

func dial() (*grpc.ClientConn, error) {
	return grpc.NewClient(*address, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

// Opens a stream, and counts its events.
func subscribe(ctx context.Context, agent string) error {
	hub, err := dial()
	if err != nil {
		return err
	}
	description := grpc.StreamDesc{ServerStreams: true}
	stream, err := hub.NewStream(ctx, &description, "/agenthub.AgentHub/SubscribeToMessages")
	if err != nil {
		return err
	}
	request := &agenthub.SubscribeToMessagesRequest{AgentId: agent, MessageTypes: []string{topic}}
	if err := stream.SendMsg(request); err != nil {
		return err
	}
	if err := stream.CloseSend(); err != nil {
		return err
	}
	// The hub answers once it knows the subscriber.
	if _, err := stream.Header(); err != nil {
		return err
	}
	go func() {
		for {
			event := new(agenthub.AgentEvent)
			if err := stream.RecvMsg(event); err != nil {
				log.Fatalf("reading: %v", err)
			}
			if event.GetMessage() == nil {
				log.Fatalf("not a message: %v", event)
			}
			delivered.Add(1)
		}
	}()
	return nil
}

// Frees one place after a delivery.
func admit(room chan<- struct{}) {
	for admitted := int64(0); ; time.Sleep(200 * time.Microsecond) {
		for admitted-delivered.Load()/int64(*subscribers) < *window {
			room <- struct{}{}
			admitted++
		}
	}
}

// Publishes messages one after the other; with a channel, each waits for a free place.
func publish(ctx context.Context, hub *grpc.ClientConn, publisher int, room <-chan struct{}) {
	text := strings.Repeat("x", *textBytes)
	for number := 0; ; number++ {
		if room != nil {
			<-room
		}
		request := &agenthub.PublishMessageRequest{
			Message: &a2a.Message{
				MessageId: fmt.Sprintf("%d-%d", publisher, number),
				Role:      a2a.Role_ROLE_USER,
				Content:   []*a2a.Part{{Part: &a2a.Part_Text{Text: text}}},
			},
			Routing: &agenthub.AgentEventMetadata{
				FromAgentId:   "publisher",
				EventType:     topic,
				Subscriptions: []string{topic},
			},
		}
		response := new(agenthub.PublishResponse)
		if err := hub.Invoke(ctx, "/agenthub.AgentHub/PublishMessage", request, response); err != nil {
			log.Fatalf("publishing: %v", err)
		}
		if !response.GetSuccess() {
			log.Fatalf("publishing: %s", response.GetError())
		}
		published.Add(1)
	}
}
