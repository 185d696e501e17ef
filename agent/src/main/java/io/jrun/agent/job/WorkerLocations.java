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

    /** The requesters of one location, and the answer if it has arrived. */
    private static final class LocationRequest {
        private final Subject subject;
        private final List<LocateWorker> requesters = new ArrayList<>();
        private @Nullable Bytes answer;

        LocationRequest(Subject subject) {
            this.subject = subject;
        }
    }

    private final NodeRendezvous rendezvous;
    private final JobEventLoop mailbox;
    private final ResponseStream<ControlResponse> out;
    private final Map<Subject, LocationRequest> requests = new HashMap<>();
    private final Map<Long, LocationRequest> byId = new HashMap<>();
    private long nextId;

    WorkerLocations(NodeRendezvous rendezvous, JobEventLoop mailbox, ResponseStream<ControlResponse> out) {
        this.rendezvous = rendezvous;
        this.mailbox = mailbox;
        this.out = out;
    }

    /** Answers with a WorkerLocation, now or soon. {@code pid} is the process of the worker, 0 if there is none. */
    void find(LocateWorker locate, long pid) {
        Subject subject = new Subject(locate.getRank(), locate.getGroup(), locate.getSequence());
        LocationRequest known = requests.get(subject);
        if (known == null) {
            known = new LocationRequest(subject);
            requests.put(subject, known);
            sendRequest(known, pid);
        }
        known.requesters.add(locate);
        sendIfAnswered(known);
    }

    private void sendRequest(LocationRequest request, long pid) {
        Subject subject = request.subject;
        if (pid == 0) {
            answer(request, "has no process: it has ended, or was not started");
            return;
        }
        WorkerConnection connection = rendezvous.connection(subject.rank());
        if (connection == null) {
            answer(request, "is not connected to its agent: " + ProcessState.describe(ROOT, pid));
            return;
        }
        long id = nextId++;
        byId.put(id, request);
        connection.send(new Frame.RecordRequest(id, subject.group()));
        var _ = mailbox.postIn(ANSWER_MILLIS, () -> {
            byId.remove(id);
            if (request.answer == null) {
                answer(request, "does not answer: " + ProcessState.describe(ROOT, pid));
            }
        });
    }

    /** Handles the answer of a worker. Drops an answer without a request, and a late answer. */
    void answered(WorkerConnection connection, long id, Bytes record) {
        LocationRequest request = byId.get(id);
        if (request != null
                && request.answer == null
                && connection.equals(rendezvous.connection(request.subject.rank()))) {
            byId.remove(id);
            answer(request, record);
        }
    }

    private void answer(LocationRequest request, String place) {
        answer(
                request,
                Bytes.of(RankRecord.unknown(request.subject.rank(), place).encoded()));
    }

    private void answer(LocationRequest request, Bytes record) {
        request.answer = record;
        sendIfAnswered(request);
        var _ = mailbox.postIn(FRESH_MILLIS, () -> requests.remove(request.subject));
    }

    private void sendIfAnswered(LocationRequest request) {
        Bytes answer = request.answer;
        if (answer == null) {
            return;
        }
        for (LocateWorker locate : request.requesters) {
            Frame.Location reply = new Frame.Location(locate.getId(), request.subject.rank(), answer);
            out.send(ControlResponse.newBuilder()
                    .setLocation(WorkerLocation.newBuilder()
                            .setRequester(locate.getRequester())
                            .setRound(locate.getRound())
                            .setFrame(ByteString.copyFrom(FrameCodec.encode(reply))))
                    .build());
        }
        request.requesters.clear();
    }
}
