package io.jrun.comm.control;

import io.jrun.comm.record.GroupRecord;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** One message between a worker and its agent. */
public sealed interface Frame {

    /** A frame from a worker to its agent. */
    sealed interface FromWorker extends Frame {}

    /** A frame from an agent to a worker. */
    sealed interface FromAgent extends Frame {}

    /** A frame from a worker to the launcher. The agent forwards the bytes of the frame as {@link Forwarded}. */
    sealed interface ToLauncher extends FromWorker {}

    /** A frame from the launcher to a worker. The agent forwards the bytes of the frame. */
    sealed interface FromLauncher extends FromAgent {}

    /**
     * A {@link ToLauncher} frame at the agent, which does not parse it.
     *
     * @param encoded the frame with its length prefix
     */
    record Forwarded(Bytes encoded) implements FromWorker {}

    /**
     * The first frame of a connection.
     *
     * @param protocolVersion {@link FrameCodec#PROTOCOL_VERSION}
     * @param round round in which the worker was started (JRUN_ROUND)
     * @param identity process id of the worker, which the agent compares with the process that it has started. A worker
     *     whose PID namespace is not the agent's sends its token (JRUN_WORKER_TOKEN)
     */
    record Hello(int protocolVersion, String runId, int round, int rank, long identity) implements FromWorker {}

    /**
     * Enters the rendezvous. {@link PeerTable} is the answer when every rank of the round has joined.
     *
     * @param tcpPort port of this worker's data plane, 0 if the worker does not listen
     */
    record Join(int tcpPort) implements FromWorker {}

    /**
     * Sends a command to the job's store. A {@link StoreReply} with the same id is the answer. A zero timeout does not
     * wait.
     */
    record StoreRequest(long id, StoreCommand command) implements ToLauncher {}

    /**
     * Reports that this rank takes part in no further collective.
     *
     * @param how predicate of "rank 3 ...": "returned from main", "closed its world"
     * @param waits waits as in {@link Waits}
     */
    record Leaving(String how, List<GroupRecord> waits) implements ToLauncher {
        public Leaving {
            waits = List.copyOf(waits);
        }
    }

    /**
     * Requests the record of another rank. A {@link Location} with the same id is the answer. See {@link RankLocator}.
     */
    record Locate(long id, int rank, String group, long sequence) implements ToLauncher {}

    /**
     * The answer to {@link RecordRequest}.
     *
     * @param record {@code RankRecord} in its binary form, which the agent does not parse
     */
    record RecordReply(long id, Bytes record) implements FromWorker {}

    /**
     * Reports that this process can continue in another round. The process parks when its round fails, and after
     * {@link Regroup}.
     */
    record Elastic() implements FromWorker {}

    /**
     * Reports that this worker has left its round and has released all its resources. {@link NextRound} or the end of
     * the connection is the answer. Frames before this one belong to the old round, frames after it to the next.
     *
     * @param why failure that this rank found; empty if the rank left at a commit
     */
    record Parked(String why) implements FromWorker {}

    /**
     * A heartbeat, sent twice a second. The agent parses it, so it has only the values that the agent needs.
     *
     * @param operations number of operations of process groups that this rank has begun
     * @param waiting whether this rank is in an operation
     */
    record Alive(long operations, boolean waiting) implements FromWorker {}

    /** Reports the total waits of this rank for other ranks. Sent about once a second after a change. */
    record Waits(List<GroupRecord> waits) implements ToLauncher {
        public Waits {
            waits = List.copyOf(waits);
        }
    }

    /**
     * Reports values of a step of the program.
     *
     * @param dropped number of reports that this rank has dropped since its last frame of this kind
     */
    record Metrics(long step, Map<String, Double> values, long dropped) implements ToLauncher {
        public Metrics {
            values = Collections.unmodifiableMap(new LinkedHashMap<>(values));
        }
    }

    /** Reports the place of this rank in a mesh, as {@code pp=1 tp=0}, for the causes of failures. */
    record MeshPlace(String place) implements ToLauncher {}

    /** Refuses this connection. The worker fails with the reason. */
    record Refused(String reason) implements FromAgent {}

    /**
     * All ranks of the round, in rank order.
     *
     * @param secret job secret, key of the data-plane handshake
     */
    record PeerTable(int round, Bytes secret, List<Peer> peers) implements FromAgent {
        public PeerTable {
            peers = List.copyOf(peers);
        }
    }

    /**
     * One rank of the round.
     *
     * @param host name of the node, for messages
     * @param address numeric address of the rank's data-plane port
     * @param tcpPort port of the data plane; 0 if the rank does not listen
     */
    record Peer(int rank, int nodeRank, int localRank, String host, String address, int tcpPort, long pid) {}

    /**
     * The answer to a {@link StoreRequest}.
     *
     * @param value value; absent if the command yields none
     * @param error reason of the failure, empty after success; begins with "timeout" after a deadline, and with
     *     {@link #OVER} after the end of the round
     */
    record StoreReply(long id, Optional<Bytes> value, String error) implements FromLauncher {
        /** The store of the request's round no longer exists. */
        public static final String OVER = "round over";
    }

    /**
     * Reports that a rank takes part in no further collective.
     *
     * @param how predicate of "rank 3 ...": "returned from main", "was killed by SIGKILL (pid 7)"
     */
    record RankLeft(int rank, String how) implements FromAgent {}

    /**
     * The answer to {@link Locate}.
     *
     * @param rank world rank, as known to the agent of that rank
     * @param record record as in {@link RecordReply}
     */
    record Location(long id, int rank, Bytes record) implements FromLauncher {}

    /**
     * Requests the record of this rank, because another rank waits for it in {@code group}. {@link RecordReply} with
     * the same id is the answer, soon.
     */
    record RecordRequest(long id, String group) implements FromAgent {}

    /** Stops the job: every pending and later operation fails with this cause. */
    record Abort(String cause) implements FromAgent {}

    /** Requests a checkpoint at the next safe point. */
    record CheckpointNow() implements FromAgent {}

    /** Announces a change of the world. The worker parks at its next commit. */
    record Regroup(String why) implements FromAgent {}

    /**
     * The round in which a parked worker continues with a {@link Join}. Its environment describes only its first round.
     */
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
