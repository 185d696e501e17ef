package io.jrun.comm.backend;

import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.Frame.Peer;
import io.jrun.comm.control.RankLocator;
import java.nio.channels.ServerSocketChannel;
import java.util.List;
import java.util.Optional;

/**
 * What a backend factory knows of the world it serves.
 *
 * @param runId the job
 * @param round the round of the rendezvous; everything on the wire belongs to one round
 * @param rank this rank
 * @param secret the job secret, key of the data plane's handshake; never logged
 * @param peers every rank of the round in rank order, this one included
 * @param listener bound before this rank joined, its port is {@code peers.get(rank).tcpPort()}; the factory owns and closes
 *     it; absent where the round has no TCP data plane
 * @param locator finds out where a rank is that does not come
 * @param nodeCores cores of this node that its ranks may use together, whichever of them this rank is bound to
 * @param pause where a test stops this rank
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

    /** A world of ranks that are bound to no cores, and in which nobody can be asked where one is. */
    public WorldContext(
            String runId, int round, int rank, Bytes secret, List<Peer> peers, Optional<ServerSocketChannel> listener) {
        this(runId, round, rank, secret, peers, listener, RankLocator.NONE, usableCores(), PausePoint.NONE);
    }

    /** Cores that this process may use. */
    public static int usableCores() {
        return Runtime.getRuntime().availableProcessors();
    }

    /** Whether a rank that waits may spin: where this node's ranks outnumber its cores, it would take one from a peer. */
    public boolean hasCoreForEachLocalRank() {
        return localRanks() <= nodeCores;
    }

    /** How many nodes have ranks. */
    public int nodeCount() {
        return (int) peers.stream().mapToInt(Peer::nodeRank).distinct().count();
    }

    /** This rank's number on its node. */
    public int localRank() {
        return peers.get(rank).localRank();
    }

    /** How many ranks this node has, of whatever groups. */
    int localRanks() {
        int node = peers.get(rank).nodeRank();
        return (int) peers.stream().filter(peer -> peer.nodeRank() == node).count();
    }
}
