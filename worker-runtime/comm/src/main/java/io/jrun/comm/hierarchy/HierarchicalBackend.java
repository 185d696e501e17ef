package io.jrun.comm.hierarchy;

import io.jrun.comm.CommException;
import io.jrun.comm.backend.Backend;
import io.jrun.comm.backend.Call;
import io.jrun.comm.backend.Envelope;
import io.jrun.comm.backend.GroupContext;
import io.jrun.comm.backend.Scratch;
import io.jrun.comm.backend.SoloBackend;
import io.jrun.comm.collective.KernelReduction;
import io.jrun.comm.shm.ShmBackendFactory;
import io.jrun.comm.tcp.TcpBackendFactory;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The data plane of a group on several nodes, at least one of them with several members. The data plane has three
 * parts: shared memory between this node's members, TCP between the ranks of this rank's column, and TCP between all
 * ranks, for messages between nodes and for operations without a hierarchical algorithm.
 */
final class HierarchicalBackend implements Backend {
    private final GroupContext group;
    private final Topology topology;
    private final SubBackends parts;
    private final Backend flat;
    private final IntraNodeCalls node;
    private final @Nullable InterNodeCalls column;
    private final HierarchyContext context;
    private final Scratch scratch = new Scratch();
    private final Arena arena = Arena.ofShared();

    HierarchicalBackend(GroupContext group, Topology topology, ShmBackendFactory shm, TcpBackendFactory tcp) {
        this.group = group;
        this.topology = topology;
        SubBackends made = new SubBackends(group);
        this.parts = made;
        long pieceBytes = PipelineChunks.bytes(tcp.options(), topology.columnCount(), topology.nodeCount());
        try {
            this.flat = openFlat(made, topology, group, tcp);
            this.node = openNode(made, topology, shm, pieceBytes);
            this.column = topology.isInColumn() ? openColumn(made, topology, tcp, group) : null;
        } catch (RuntimeException | Error failure) {
            made.close();
            arena.close();
            throw failure;
        }
        KernelReduction arithmetic = new KernelReduction(arena, group.world().pause());
        this.context = new HierarchyContext(topology, node, column, arithmetic, group.size(), pieceBytes);
    }

    @Override
    public void run(Call call) {
        try {
            route(call);
        } catch (RuntimeException | Error failure) {
            fail(call, call.failure(failure));
            throw failure;
        }
    }

    private void route(Call call) {
        switch (call.kind()) {
            case SEND, RECV -> message(call);
            case BARRIER -> barrier(call);
            default -> {
                if (!isHierarchical(call)) {
                    // Without the barrier, ranks with different calls would wait for each other in different parts.
                    barrier(call);
                    flat.run(call);
                } else if (call.count() == 0) {
                    barrier(call);
                } else {
                    collective(call);
                }
            }
        }
    }

    /**
     * Whether the operation has a hierarchical algorithm. Deterministic reductions of floating point numbers have none,
     * because only the direct algorithm reduces the contributions one by one in group rank order.
     */
    private boolean isHierarchical(Call call) {
        boolean isOrdered =
                group.deterministic() && call.kind().reduces() && call.type().isFloat();
        return !isOrdered
                && switch (call.kind()) {
                    case ALL_REDUCE, BROADCAST, REDUCE, REDUCE_SCATTER, ALL_GATHER -> true;
                    default -> false;
                };
    }

    private void collective(Call call) {
        switch (call.kind()) {
            case ALL_REDUCE -> ShardedAllReduce.run(context, call);
            case BROADCAST -> NodeBroadcast.run(context, call);
            case REDUCE -> NodeReduce.run(context, scratch, call);
            case REDUCE_SCATTER -> ColumnReduceScatter.run(context, scratch, call);
            case ALL_GATHER -> ColumnAllGather.run(context, scratch, call);
            default -> throw new IllegalStateException(call.describe() + " has no hierarchical form");
        }
    }

    private void message(Call call) {
        if (topology.isLocal(call.root())) {
            node.message(call, topology.localRankOf(call.root()));
        } else {
            flat.run(call);
        }
    }

    @Override
    public void send(Call call) {
        run(call);
    }

    @Override
    public Envelope next(Call receive) {
        int source = receive.root();
        return topology.isLocal(source) ? node.next(receive, topology.localRankOf(source)) : flat.next(receive);
    }

    @Override
    public void receive(Call call) {
        run(call);
    }

    @Override
    public boolean hasMessage(int source) {
        return topology.isLocal(source) ? node.hasMessage(topology.localRankOf(source)) : flat.hasMessage(source);
    }

    // All ranks of a node enter, then the ranks of the first column meet, then the nodes continue.
    private void barrier(Call call) {
        node.barrier(call);
        if (topology.localRank() == 0) {
            context.column().compareCalls(call);
        }
        node.barrier(call);
    }

    @Override
    public MemorySegment allocate(Call call) {
        try {
            if (topology.localRank() == 0) {
                context.column().compareCalls(call);
            }
            return node.allocate(call);
        } catch (CommException failure) {
            fail(call, failure);
            throw failure;
        }
    }

    @Override
    public String algorithm(Call call) {
        return isHierarchical(call) ? "hierarchical" : flat.algorithm(call);
    }

    @Override
    public CommException settle(CommException failure) {
        return flat.settle(failure);
    }

    @Override
    public void healthChanged() {
        parts.healthChanged();
    }

    @Override
    public void close() {
        if (column != null) {
            column.close();
        }
        parts.close();
        arena.close();
    }

    /** Returns when no part of a collective runs any more, so that the caller may use its buffers again. */
    private void fail(Call call, CommException cause) {
        parts.failed(cause);
        if (column != null && !call.kind().isMessage()) {
            column.quiesce();
        }
    }

    // A failing rank also notifies the ranks of its own node over TCP, because they may be waiting for the network.
    private static Backend openFlat(SubBackends parts, Topology topology, GroupContext group, TcpBackendFactory tcp) {
        List<Integer> others = topology.local().stream()
                .filter(rank -> rank != group.groupRank())
                .toList();
        List<Integer> all = IntStream.range(0, group.size()).boxed().toList();
        Backend backend = tcp.create(group, parts::failed, Set.copyOf(others));
        parts.add(group, all, backend);
        return backend;
    }

    private static IntraNodeCalls openNode(
            SubBackends parts, Topology topology, ShmBackendFactory shm, long pieceBytes) {
        GroupContext context = parts.contextOf(topology.local());
        Backend backend = topology.isAlone() ? new SoloBackend() : shm.create(context, pieceBytes);
        parts.add(context, topology.local(), backend);
        return new IntraNodeCalls(backend, context.size());
    }

    private static InterNodeCalls openColumn(
            SubBackends parts, Topology topology, TcpBackendFactory tcp, GroupContext group) {
        GroupContext context = parts.contextOf(topology.column());
        Backend backend = tcp.create(context, parts::failed, Set.of());
        parts.add(context, topology.column(), backend);
        String name = "rank-" + group.world().rank() + " " + group.name() + " column";
        return new InterNodeCalls(backend, name, parts::failed);
    }
}
