package io.jrun.comm.control;

import io.jrun.comm.record.GroupRecord;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** One message between a worker and its agent. */
public sealed interface Frame {

    /** What a worker may send. */
    sealed interface FromWorker extends Frame {}

    /** What an agent may send. */
    sealed interface FromAgent extends Frame {}

    /** What a worker sends to the launcher. The agent forwards the bytes of the frame as {@link Forwarded}. */
    sealed interface ToLauncher extends FromWorker {}

    /** What the launcher sends to a worker. The agent forwards the bytes of the frame. */
    sealed interface FromLauncher extends FromAgent {}

    /**
     * A {@link ToLauncher} frame at the agent, which does not parse it.
     *
     * @param encoded the frame with its length prefix
     */
    record Forwarded(Bytes encoded) implements FromWorker {}

    /**
     * First frame of a connection.
     *
     * @param protocolVersion {@link FrameCodec#PROTOCOL_VERSION}
     * @param round the round the worker was started in (JRUN_ROUND)
     * @param pid the worker's process id, which the agent compares with the process it started
     */
    record Hello(int protocolVersion, String runId, int round, int rank, long pid) implements FromWorker {}

    /**
     * Enters the rendezvous; answered by {@link PeerTable} when every rank of the round has joined.
     *
     * @param tcpPort the data-plane port this worker listens on, 0 if it does not listen
     */
    record Join(int tcpPort) implements FromWorker {}

    /** Asks the job's store; answered by a {@link StoreReply} of the same id. A zero timeout does not wait. */
    record StoreRequest(long id, StoreCommand command) implements ToLauncher {}

    /**
     * This rank takes part in no further collective.
     *
     * @param how completes "rank 3 ...": "returned from main", "closed its world"
     * @param waits as of {@link Waits}
     */
    record Leaving(String how, List<GroupRecord> waits) implements ToLauncher {
        public Leaving {
            waits = List.copyOf(waits);
        }
    }

    /** Asks where another rank is; answered by a {@link Location} of the same id. See {@link RankLocator}. */
    record Locate(long id, int rank, String group, long sequence) implements ToLauncher {}

    /**
     * Answer to {@link RecordRequest}.
     *
     * @param record a {@code RankRecord} in its binary form, which the agent does not read
     */
    record RecordReply(long id, Bytes record) implements FromWorker {}

    /** This process can continue in another round. It parks when its round fails, and after {@link Regroup}. */
    record Elastic() implements FromWorker {}

    /**
     * This worker has left its round and holds nothing of the round. {@link NextRound} is the answer, or the end of the
     * connection. Frames before this one belong to the old round, frames after it to the next.
     *
     * @param why the failure that it noticed; empty if it left at a commit
     */
    record Parked(String why) implements FromWorker {}

    /**
     * A sign of life, sent twice a second. The agent reads it, so it has only what the agent needs.
     *
     * @param operations how many operations of process groups this rank has begun
     * @param waiting whether this rank is in an operation
     */
    record Alive(long operations, boolean waiting) implements FromWorker {}

    /** How long this rank has waited for the others until now. Sent about once a second if that has changed. */
    record Waits(List<GroupRecord> waits) implements ToLauncher {
        public Waits {
            waits = List.copyOf(waits);
        }
    }

    /**
     * Values of a step that the program has reported.
     *
     * @param dropped how many reports this rank has dropped since its last frame of this kind
     */
    record Metrics(long step, Map<String, Double> values, long dropped) implements ToLauncher {
        public Metrics {
            values = Collections.unmodifiableMap(new LinkedHashMap<>(values));
        }
    }

    /** The agent does not accept this connection. The worker fails with the reason. */
    record Refused(String reason) implements FromAgent {}

    /**
     * Every rank of the round, in rank order.
     *
     * @param secret the job secret, key of the data-plane handshake
     */
    record PeerTable(int round, Bytes secret, List<Peer> peers) implements FromAgent {
        public PeerTable {
            peers = List.copyOf(peers);
        }
    }

    /**
     * One rank of the round.
     *
     * @param host the node's name, for messages
     * @param address where its data-plane port is reached; numeric
     * @param tcpPort 0 if it does not listen
     */
    record Peer(int rank, int nodeRank, int localRank, String host, String address, int tcpPort, long pid) {}

    /**
     * Answer to a {@link StoreRequest}.
     *
     * @param value absent where the command yields none
     * @param error why it failed, empty if it succeeded; a passed deadline begins with "timeout", a round that has ended
     *     with {@link #OVER}
     */
    record StoreReply(long id, Optional<Bytes> value, String error) implements FromLauncher {
        /** The store of the request's round is gone. */
        public static final String OVER = "round over";
    }

    /**
     * A rank takes part in no further collective.
     *
     * @param how what became of it, in words: "returned from main", "was killed by SIGKILL (pid 7)"
     */
    record RankLeft(int rank, String how) implements FromAgent {}

    /**
     * Answer to {@link Locate}.
     *
     * @param rank world rank, as the agent of that rank knows it
     * @param record as of {@link RecordReply}
     */
    record Location(long id, int rank, Bytes record) implements FromLauncher {}

    /**
     * Another rank misses this rank in a collective of {@code group}; answered by {@link RecordReply} with the same id, soon.
     */
    record RecordRequest(long id, String group) implements FromAgent {}

    /** The job is stopping: fail every pending and later operation with this cause. */
    record Abort(String cause) implements FromAgent {}

    /** The worker shall write a checkpoint at the next safe point. */
    record CheckpointNow() implements FromAgent {}

    /** The world will change. The worker parks at its next commit. */
    record Regroup(String why) implements FromAgent {}

    /** The round in which a parked worker continues, with a {@link Join}. Its environment has its first round only. */
    record NextRound(
            int round,
            int restartCount,
            int rank,
            int worldSize,
            int localRank,
            int localWorldSize,
            int nodeRank,
            int nodeCount)
            implements FromAgent {}
}
