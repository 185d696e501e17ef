package io.jrun.launcher.coordinator;

import io.jrun.agent.proto.ControlRequest;
import io.jrun.agent.proto.ControlResponse;
import io.jrun.agent.proto.JobOpened;
import io.jrun.agent.proto.NodeJoinedReport;
import io.jrun.agent.proto.WorkerExitedReport;
import io.jrun.agent.proto.WorkerFrame;
import io.jrun.agent.proto.WorkerHungReport;
import io.jrun.agent.proto.WorkerLoads;
import io.jrun.agent.proto.WorkerLocation;
import io.jrun.agent.proto.WorkerParkedReport;
import io.jrun.agent.proto.WorkerStartedReport;
import io.jrun.comm.control.Frame;
import io.jrun.comm.record.GroupRecord;
import io.jrun.launcher.console.LogMultiplexer;
import io.jrun.launcher.coordinator.CoordinatorInput.Endpoint;
import io.jrun.launcher.event.JobEvent;
import io.jrun.launcher.event.JobEventPublisher;
import io.jrun.launcher.event.WorkerLoad;
import io.jrun.launcher.layout.MeshPlaces;
import io.jrun.launcher.layout.Node;
import java.io.IOException;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Reads the messages of agents. Converts them to inputs of {@link JobMachine}, and handles all messages that the
 * machine does not need. Confined to the coordinator's thread.
 */
final class AgentEventReader {
    /** Largest number of notices that are remembered as printed. */
    private static final int NOTICES = 1000;

    private final AgentConnections links;
    private final JobStore store;
    private final FailureBroadcast failureBroadcast;
    private final LogMultiplexer console;
    private final JobEventPublisher events;
    private final Map<Integer, String> hosts = new HashMap<>();
    private final LocationQueries queries = new LocationQueries();
    private final MeshPlaces places = new MeshPlaces();
    private final Set<String> printed = new HashSet<>();
    private final StragglerDetector late;
    private final MetricEvents metrics;
    private final RankTimelines timelines;
    private @Nullable Membership membership;
    private int round;

    AgentEventReader(
            AgentConnections links,
            LongSupplier nanoTime,
            LogMultiplexer console,
            JobEventPublisher events,
            RankTimelines timelines) {
        this.timelines = timelines;
        this.links = links;
        this.store = new JobStore(nanoTime);
        this.failureBroadcast = new FailureBroadcast(nanoTime);
        this.console = console;
        this.events = events;
        this.late = new StragglerDetector(nanoTime, events);
        this.metrics = new MetricEvents(nanoTime, events);
    }

    /** A round begins, with an empty store. */
    void begin(int number, int restartCount, Membership next) {
        round = number;
        membership = next;
        store.startRound(number);
        queries.startRound(number);
        timelines.begin(number);
        places.clear();
        events.publish(
                new JobEvent.RoundStarted(number, restartCount, next.ranks().placements()));
        late.begin();
        failureBroadcast.clear();
    }

    /** Called before the abort of the round is sent to all nodes. */
    void abort(int number) {
        failureBroadcast.begin(number, openHosts());
    }

    private List<String> openHosts() {
        Membership current = membership;
        return current == null
                ? List.of()
                : current.ids().stream()
                        .filter(id -> links.get(id).isOpen())
                        .map(id -> host(current, id))
                        .toList();
    }

    /** Publishes a notice, and the same notice of further nodes only once. */
    private void notice(String text) {
        if (printed.size() >= NOTICES || printed.add(text)) {
            events.notice(text);
        }
    }

    /** Sends the requests of {@code query} to the agents. */
    void requestLocations(LocationQuery query) {
        Membership current = membership;
        if (current == null) {
            query.begin(List.of());
        } else {
            queries.begin(
                    query,
                    current.ranks(),
                    (nodeRank, request) -> links.send(current.ids().get(nodeRank), request));
        }
    }

    /** The times at which the nodes received the latest failure. */
    Optional<FailureBroadcastLatency> failureLatency() {
        return failureBroadcast.latency();
    }

    /** Whether the receipt of the latest failure is missing from a connected node. */
    boolean awaitsReceipts() {
        return failureLatency()
                .map(FailureBroadcastLatency::silent)
                .filter(silent -> !Collections.disjoint(silent, openHosts()))
                .isPresent();
    }

    /** Publishes the stragglers and the dropped metrics at the end of a job that took {@code seconds}. */
    void publishEnd(double seconds) {
        late.end(seconds);
        metrics.end();
    }

    /** Runs the periodic work. */
    void tick() {
        store.expire();
        late.tick();
        metrics.tick();
    }

    /** The input of the machine that results from a message; empty for messages that the machine does not need. */
    Optional<CoordinatorInput> read(int id, ControlResponse message) {
        return switch (message.getMessageCase()) {
            case JOB_OPENED -> Optional.of(opened(id, message.getJobOpened()));
            case WORKER_STARTED -> Optional.of(started(id, message.getWorkerStarted()));
            case NODE_JOINED -> Optional.of(joined(id, message.getNodeJoined()));
            case WORKER_ELASTIC ->
                Optional.of(new CoordinatorInput.WorkerElastic(
                        message.getWorkerElastic().getRound(),
                        message.getWorkerElastic().getRank()));
            case WORKER_PARKED -> Optional.of(parked(message.getWorkerParked()));
            case WORKER_FRAME -> frame(id, message.getWorkerFrame());
            case WORKER_HUNG -> Optional.of(hung(message.getWorkerHung()));
            case WORKER_EXITED -> ended(message.getWorkerExited());
            default -> {
                deal(id, message);
                yield Optional.empty();
            }
        };
    }

    private void deal(int id, ControlResponse message) {
        switch (message.getMessageCase()) {
            case LOCATION -> located(message.getLocation());
            case GPUS -> {
                String host = hosts.get(id);
                if (host != null) {
                    events.publish(GpuEvents.of(id, host, message.getGpus()));
                }
            }
            case WORKER_LOADS -> {
                String host = hosts.get(id);
                if (host != null) {
                    events.publish(workersMeasured(id, host, message.getWorkerLoads()));
                }
            }
            case NOTICE -> notice(message.getNotice().getText());
            case ABORT_RECEIPT -> {
                Membership current = membership;
                if (current != null && current.has(id)) {
                    failureBroadcast.confirm(message.getAbortReceipt().getRound(), host(current, id));
                }
            }
            default -> {} // the messages that read() handles
        }
    }

    private static JobEvent workersMeasured(int id, String host, WorkerLoads loads) {
        return new JobEvent.WorkersMeasured(
                id,
                host,
                loads.getLoadsList().stream()
                        .map(load -> new WorkerLoad(load.getRank(), load.getCpuPercent(), load.getResidentBytes()))
                        .toList());
    }

    /** Handles a frame of a worker. The agent has not read the frame, so the frame may be invalid. */
    private Optional<CoordinatorInput> frame(int id, WorkerFrame message) {
        int rank = message.getRank();
        try {
            return switch (AgentMessages.fromWorker(message.getFrame())) {
                case Frame.Leaving leaving -> Optional.of(leaving(rank, message.getRound(), leaving));
                case Frame.ToLauncher other -> {
                    deal(id, rank, message.getRound(), other);
                    yield Optional.empty();
                }
            };
        } catch (IOException e) {
            notice("rank " + rank + " sent a control frame that cannot be read: " + e.getMessage());
            return Optional.empty();
        }
    }

    private void deal(int id, int rank, int ofRound, Frame.ToLauncher frame) {
        switch (frame) {
            case Frame.StoreRequest request ->
                store.submit(ofRound, request, reply -> links.send(id, AgentMessages.frame(rank, ofRound, reply)));
            case Frame.Locate request -> toNodeOf(request.rank(), AgentMessages.locate(rank, ofRound, request));
            case Frame.Waits(List<GroupRecord> waits) -> {
                if (ofRound == round) {
                    late.report(rank, waits);
                }
            }
            case Frame.MeshPlace(String place) -> {
                Membership current = membership;
                if (ofRound == round && current != null) {
                    events.publish(new JobEvent.RankPlaced(ofRound, rank, place));
                    places.put(rank, place, current.ranks()).ifPresent(this::notice);
                }
            }
            case Frame.Metrics report -> metrics.publish(ofRound, rank, report);
            case Frame.Leaving _ -> throw new IllegalArgumentException("a frame for the machine: " + frame);
        }
    }

    private void located(WorkerLocation message) {
        if (!queries.take(message)) {
            toNodeOf(
                    message.getRequester(),
                    AgentMessages.frame(message.getRequester(), message.getRound(), message.getFrame()));
        }
    }

    private static String host(Membership membership, int id) {
        return membership.ranks().nodes().get(membership.nodeRank(id)).host();
    }

    private void toNodeOf(int rank, ControlRequest message) {
        Membership current = membership;
        if (current != null && rank >= 0 && rank < current.worldSize()) {
            links.send(current.idOf(rank), message);
        }
    }

    private CoordinatorInput opened(int id, JobOpened message) {
        links.opened(id);
        Node node = AgentMessages.node(id, message);
        hosts.put(id, node.host());
        events.publish(new JobEvent.NodeJoined(id, node.host(), node.address(), node.cores(), node.gpus()));
        if (links.where(id).isEmpty()) { // The agent in this process has the launcher's clock.
            clockMeasured(id, new ClockEstimate.Measurement(0, 0, System.nanoTime()));
        }
        return new CoordinatorInput.NodeOpened(id, node);
    }

    /** Publishes a measurement of the clock of an agent that has opened the job. */
    void clockMeasured(int id, ClockEstimate.Measurement measured) {
        String host = hosts.get(id);
        if (host != null) {
            events.publish(new JobEvent.ClockMeasured(
                    id, host, measured.offsetNanos(), measured.errorNanos(), measured.atNanos()));
        }
    }

    /** An agent was lost or could not be reached. */
    void lost(int id, String why) {
        String known = hosts.get(id);
        events.publish(new JobEvent.NodeLost(id, known == null ? links.where(id) : known, why));
    }

    private CoordinatorInput started(int id, WorkerStartedReport message) {
        timelines.started(id, message.getRank(), message.getLogFolder());
        events.publish(new JobEvent.WorkerStarted(round, message.getRank(), message.getPid(), message.getLogFolder()));
        return new CoordinatorInput.WorkerProcessStarted(round, message.getRank(), message.getPid());
    }

    private static CoordinatorInput joined(int id, NodeJoinedReport message) {
        List<Endpoint> endpoints = message.getEndpointsList().stream()
                .map(endpoint -> new Endpoint(endpoint.getRank(), endpoint.getTcpPort(), endpoint.getPid()))
                .toList();
        return new CoordinatorInput.NodeWorkersJoined(id, message.getRound(), endpoints);
    }

    private CoordinatorInput parked(WorkerParkedReport message) {
        events.publish(new JobEvent.WorkerParked(message.getRound(), message.getRank(), message.getWhy()));
        return new CoordinatorInput.WorkerProcessParked(
                message.getRound(), message.getRank(), message.getPid(), message.getWhy());
    }

    private CoordinatorInput leaving(int rank, int ofRound, Frame.Leaving leaving) {
        if (ofRound == round) {
            late.left(rank, leaving.waits());
        }
        events.publish(new JobEvent.WorkerLeft(ofRound, rank, leaving.how()));
        return new CoordinatorInput.WorkerLeaving(rank, ofRound, leaving.how());
    }

    private static CoordinatorInput hung(WorkerHungReport message) {
        return new CoordinatorInput.WorkerHung(
                message.getRank(), message.getRound(), message.getPid(), message.getWhy());
    }

    /** Ignores the end of a worker of an earlier round, because another process may have had the rank then. */
    private Optional<CoordinatorInput> ended(WorkerExitedReport message) {
        Membership current = membership;
        if (current == null || message.getRound() != round) {
            return Optional.empty();
        }
        WorkerResult end =
                AgentMessages.end(message, current.ranks().placement(message.getRank()), places.of(message.getRank()));
        if (!end.startError().isEmpty()) {
            console.forget(round, end.rank());
        }
        events.publish(end.event(round));
        return Optional.of(new CoordinatorInput.WorkerProcessEnded(round, end));
    }
}
