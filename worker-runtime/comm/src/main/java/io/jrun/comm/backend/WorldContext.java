package io.jrun.comm.backend;

import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.Frame.Peer;
import io.jrun.comm.control.RankLocator;
import java.nio.channels.ServerSocketChannel;
import java.util.List;
import java.util.Optional;

/**
 * The properties of the world that a backend factory uses.
 *
 * @param runId the job's name
 * @param round the round of the rendezvous; all data on the wire belongs to one round
 * @param rank world rank of this rank
 * @param secret the job secret, key of the data plane's handshake; never logged
 * @param peers all ranks of the round in rank order, including this rank
 * @param listener socket that was bound before this rank joined, with the port {@code peers.get(rank).tcpPort()}; the
 *     factory owns and closes the socket; absent if the round has no TCP data plane
 * @param locator requests the record of a late rank
 * @param nodeCores number of cores of this node that its ranks may use together, independent of this rank's binding
 * @param pause point at which a test pauses this rank
 */
public record WorldContext(
        String runId,
        int round,
        int rank,
        Bytes secret,
        List<Peer> peers,
        Optional<ServerSocketChannel> listener,
        RankLocator locator,
        int nodeCores,
        PausePoint pause) {
    public WorldContext {
        peers = List.copyOf(peers);
    }

    /** Makes a world whose ranks are not bound to cores and cannot be located. */
    public WorldContext(
            String runId, int round, int rank, Bytes secret, List<Peer> peers, Optional<ServerSocketChannel> listener) {
        this(runId, round, rank, secret, peers, listener, RankLocator.NONE, usableCores(), PausePoint.NONE);
    }

    /** Returns the number of cores that this process may use. */
    public static int usableCores() {
        return Runtime.getRuntime().availableProcessors();
    }

    /**
     * Whether a waiting rank may spin. If the ranks of this node outnumber its cores, spinning would take a core from a
     * peer.
     */
    public boolean hasCoreForEachLocalRank() {
        return localRanks() <= nodeCores;
    }

    /** Returns the number of nodes with ranks. */
    public int nodeCount() {
        return (int) peers.stream().mapToInt(Peer::nodeRank).distinct().count();
    }

    /** Returns this rank's number on its node. */
    public int localRank() {
        return peers.get(rank).localRank();
    }

    /** Returns the number of ranks on this node. */
    int localRanks() {
        int node = peers.get(rank).nodeRank();
        return (int) peers.stream().filter(peer -> peer.nodeRank() == node).count();
    }
}
