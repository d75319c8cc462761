// Reproduces the wire behaviour of agents and clients of the original AgentHub, call by call: `echo` is an agent that
// subscribes to tasks alone and uses the names of its skills, `responder` answers messages, `repl` and `cli` send with
// ids made of seconds and a `traceparent` header.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"older/pb/a2a"
	"older/pb/hub"
)

const trace = "4bf92f3577b34da6a3ce929d0e0e4736"

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: older echo|responder|repl|cli HOST:PORT")
	}
	connection, err := grpc.NewClient(os.Args[2], grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(err)
	client := hub.NewAgentHubClient(connection)
	ctx := metadata.AppendToOutgoingContext(context.Background(), "traceparent", "00-"+trace+"-00f067aa0ba902b7-01")
	switch os.Args[1] {
	case "echo":
		echo(ctx, client)
	case "responder":
		responder(ctx, client)
	case "repl":
		ask(ctx, client, "agent_chat_repl", "agent_chat_responder", func() string {
			return fmt.Sprintf("chat_conversation_%d", time.Now().Unix())
		})
	case "cli":
		session := fmt.Sprintf("cli_session_%d", time.Now().Unix())
		ask(ctx, client, "agent_chat_cli", "cortex", func() string { return session })
	default:
		log.Fatalf("unknown: %s", os.Args[1])
	}
}

// An agent with one skill. The task's type is the skill's name, and the artifact follows the terminal status.
func echo(ctx context.Context, client hub.AgentHubClient) {
	const agent, skill = "agent_echo", "Echo Messages"
	_, err := client.RegisterAgent(ctx, &hub.RegisterAgentRequest{AgentCard: &a2a.AgentCard{
		ProtocolVersion: "0.2.9",
		Name:            agent,
		Description:     "A simple agent that echoes messages back to demonstrate task delegation",
		Version:         "1.0.0",
		Capabilities:    &a2a.AgentCapabilities{},
		Skills: []*a2a.AgentSkill{{
			Id:          "skill_0",
			Name:        skill,
			Description: "Echoes the input text back to the sender",
			Tags:        []string{skill},
			InputModes:  []string{"text/plain"},
			OutputModes: []string{"text/plain"},
		}},
	}})
	check(err)
	tasks, err := client.SubscribeToTasks(ctx, &hub.SubscribeToTasksRequest{AgentId: agent})
	check(err)
	for {
		event, err := tasks.Recv()
		check(err)
		switch payload := event.GetPayload().(type) {
		case *hub.AgentEvent_Message:
			if id := payload.Message.GetTaskId(); id != "" {
				task, err := client.GetTask(ctx, &hub.GetTaskRequest{TaskId: id})
				check(err)
				work(ctx, client, agent, skill, task)
			}
		case *hub.AgentEvent_Task:
			work(ctx, client, agent, skill, payload.Task)
		}
	}
}

func work(ctx context.Context, client hub.AgentHubClient, agent, skill string, task *a2a.Task) {
	// The original dereferences it without a check.
	said := task.Status.Update.Content[0].GetText()
	taskType := task.GetMetadata().GetFields()["task_type"].GetStringValue()
	fmt.Printf("task %s of %q: %s\n", task.Id, taskType, said)
	state, text := a2a.TaskState_TASK_STATE_COMPLETED, "Echo: "+said
	if taskType != skill {
		state, text = a2a.TaskState_TASK_STATE_FAILED, ""
	}
	routing := &hub.AgentEventMetadata{FromAgentId: agent, EventType: "task_completion", Priority: hub.Priority_PRIORITY_MEDIUM}
	_, err := client.PublishTaskUpdate(ctx, &hub.PublishTaskUpdateRequest{
		Update: &hub.TaskStatusUpdateEvent{
			TaskId:    task.Id,
			ContextId: task.ContextId,
			Final:     true,
			Status: &a2a.TaskStatus{
				State:     state,
				Timestamp: timestamppb.Now(),
				Update: message(fmt.Sprintf("completion_%s_%d", task.Id, time.Now().Unix()), task.ContextId, a2a.Role_ROLE_AGENT,
					"Task completed with status: "+state.String(), "", task.Id),
			},
		},
		Routing: routing,
	})
	if err != nil {
		// It has ended meanwhile, for example because it was delivered twice.
		fmt.Println("not reported:", err)
		return
	}
	if text == "" {
		return
	}
	_, err = client.PublishTaskArtifact(ctx, &hub.PublishTaskArtifactRequest{
		Artifact: &hub.TaskArtifactUpdateEvent{
			TaskId:    task.Id,
			ContextId: task.ContextId,
			LastChunk: true,
			Artifact: &a2a.Artifact{
				ArtifactId: fmt.Sprintf("echo_%s_%d", task.Id, time.Now().Unix()),
				Name:       "echo_response",
				Parts:      []*a2a.Part{{Part: &a2a.Part_Text{Text: text}}},
			},
		},
		Routing: routing,
	})
	check(err)
}

// Answers each message, with the trace that it belongs to.
func responder(ctx context.Context, client hub.AgentHubClient) {
	const agent = "agent_chat_responder"
	messages, err := client.SubscribeToMessages(ctx, &hub.SubscribeToMessagesRequest{AgentId: agent})
	check(err)
	fmt.Println("listening")
	for {
		event, err := messages.Recv()
		check(err)
		asked := event.GetMessage()
		if asked.GetRole() != a2a.Role_ROLE_USER {
			continue
		}
		answer := "You said: " + asked.Content[0].GetText()
		if event.TraceId == trace {
			answer += " (traced)"
		}
		id := fmt.Sprintf("msg_chat_response_%d", time.Now().Unix())
		publish(ctx, client, message(id, asked.ContextId, a2a.Role_ROLE_AGENT, answer, "chat_response", ""),
			agent, event.GetRouting().GetFromAgentId(), "a2a.message.chat_response")
	}
}

// Sends each input line at once, and prints the answers of the next seconds.
func ask(ctx context.Context, client hub.AgentHubClient, from, to string, conversation func() string) {
	messages, err := client.SubscribeToMessages(ctx, &hub.SubscribeToMessagesRequest{AgentId: from})
	check(err)
	lines := 0
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		id := fmt.Sprintf("msg_chat_request_%d", time.Now().Unix())
		publish(ctx, client, message(id, conversation(), a2a.Role_ROLE_USER, strings.TrimSpace(input.Text()), "chat_request", ""),
			from, to, "a2a.message.chat_request")
		lines++
	}
	time.AfterFunc(100*time.Second, func() { log.Fatal("not all was answered in time") })
	for lines > 0 {
		event, err := messages.Recv()
		check(err)
		if answer := event.GetMessage(); answer.GetRole() == a2a.Role_ROLE_AGENT {
			fmt.Println(answer.Content[0].GetText())
			lines--
		}
	}
}

func message(id, conversation string, role a2a.Role, text, taskType, task string) *a2a.Message {
	said := &a2a.Message{
		MessageId: id,
		ContextId: conversation,
		TaskId:    task,
		Role:      role,
		Content:   []*a2a.Part{{Part: &a2a.Part_Text{Text: text}}},
	}
	if taskType != "" {
		said.Metadata = &structpb.Struct{Fields: map[string]*structpb.Value{"task_type": structpb.NewStringValue(taskType)}}
	}
	return said
}

func publish(ctx context.Context, client hub.AgentHubClient, said *a2a.Message, from, to, eventType string) {
	answer, err := client.PublishMessage(ctx, &hub.PublishMessageRequest{
		Message: said,
		Routing: &hub.AgentEventMetadata{FromAgentId: from, ToAgentId: to, EventType: eventType, Priority: hub.Priority_PRIORITY_MEDIUM},
	})
	check(err)
	if !answer.GetSuccess() {
		log.Fatal(answer.GetError())
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
