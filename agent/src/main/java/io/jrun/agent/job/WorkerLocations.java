package io.jrun.agent.job;

import com.google.protobuf.ByteString;
import io.jrun.agent.control.WorkerConnection;
import io.jrun.agent.node.ProcessState;
import io.jrun.agent.proto.ControlResponse;
import io.jrun.agent.proto.LocateWorker;
import io.jrun.agent.proto.WorkerLocation;
import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.Frame;
import io.jrun.comm.control.FrameCodec;
import io.jrun.comm.record.RankRecord;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Gets the records of this node's workers for ranks that wait for them, and for {@code jrun stack}. A worker with
 * jrun's runtime sends its record, which the agent does not read. For a worker without the runtime, or without an
 * answer within a second, the agent makes a record from the kernel's data. Requests of several ranks about one
 * operation become one request to the worker. Confined to the job's thread.
 */
final class WorkerLocations {
    /** The longest wait of the agent for a worker. A running JVM answers in milliseconds. */
    private static final long ANSWER_MILLIS = 1000;

    /** The time for which the agent keeps an answer for further requests about the same operation. */
    private static final long FRESH_MILLIS = 1000;

    private static final Path ROOT = Path.of("/");

    /** The subject of a request to a worker. */
    private record Subject(int rank, String group, long sequence) {}

    /** The askers of one request, and the answer if it has arrived. */
    private static final class Question {
        private final Subject subject;
        private final List<LocateWorker> askers = new ArrayList<>();
        private @Nullable Bytes answer;

        Question(Subject subject) {
            this.subject = subject;
        }
    }

    private final NodeRendezvous rendezvous;
    private final JobEventLoop mailbox;
    private final ResponseStream<ControlResponse> out;
    private final Map<Subject, Question> questions = new HashMap<>();
    private final Map<Long, Question> byId = new HashMap<>();
    private long nextId;

    WorkerLocations(NodeRendezvous rendezvous, JobEventLoop mailbox, ResponseStream<ControlResponse> out) {
        this.rendezvous = rendezvous;
        this.mailbox = mailbox;
        this.out = out;
    }

    /** Answers with a WorkerLocation, now or soon. {@code pid} is the process of the worker, 0 if there is none. */
    void find(LocateWorker locate, long pid) {
        Subject subject = new Subject(locate.getRank(), locate.getGroup(), locate.getSequence());
        Question known = questions.get(subject);
        if (known == null) {
            known = new Question(subject);
            questions.put(subject, known);
            request(known, pid);
        }
        known.askers.add(locate);
        sendIfAnswered(known);
    }

    private void request(Question question, long pid) {
        Subject subject = question.subject;
        if (pid == 0) {
            answer(question, "has no process: it has ended, or was not started");
            return;
        }
        WorkerConnection connection = rendezvous.connection(subject.rank());
        if (connection == null) {
            answer(question, "is not connected to its agent: " + ProcessState.describe(ROOT, pid));
            return;
        }
        long id = nextId++;
        byId.put(id, question);
        connection.send(new Frame.RecordRequest(id, subject.group()));
        var _ = mailbox.postIn(ANSWER_MILLIS, () -> {
            byId.remove(id);
            if (question.answer == null) {
                answer(question, "does not answer: " + ProcessState.describe(ROOT, pid));
            }
        });
    }

    /** Handles the answer of a worker. Drops an answer without a request, and a late answer. */
    void answered(WorkerConnection connection, long id, Bytes record) {
        Question question = byId.get(id);
        if (question != null
                && question.answer == null
                && connection.equals(rendezvous.connection(question.subject.rank()))) {
            byId.remove(id);
            answer(question, record);
        }
    }

    private void answer(Question question, String place) {
        answer(
                question,
                Bytes.of(RankRecord.unknown(question.subject.rank(), place).encoded()));
    }

    private void answer(Question question, Bytes record) {
        question.answer = record;
        sendIfAnswered(question);
        var _ = mailbox.postIn(FRESH_MILLIS, () -> questions.remove(question.subject));
    }

    private void sendIfAnswered(Question question) {
        Bytes answer = question.answer;
        if (answer == null) {
            return;
        }
        for (LocateWorker locate : question.askers) {
            Frame.Location reply = new Frame.Location(locate.getId(), question.subject.rank(), answer);
            out.send(ControlResponse.newBuilder()
                    .setLocation(WorkerLocation.newBuilder()
                            .setAsker(locate.getAsker())
                            .setRound(locate.getRound())
                            .setFrame(ByteString.copyFrom(FrameCodec.encode(reply))))
                    .build());
        }
        question.askers.clear();
    }
}
