package io.jrun.comm.join;

import io.jrun.comm.CommException;
import io.jrun.comm.Distributed;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.backend.ListenerSocket;
import io.jrun.comm.backend.WorldContext;
import io.jrun.comm.control.Bytes;
import io.jrun.comm.control.Control;
import io.jrun.comm.control.Frame.Peer;
import io.jrun.comm.control.Frame.StoreReply;
import io.jrun.comm.control.RuntimeThread;
import io.jrun.comm.control.StoreCommand;
import io.jrun.comm.cuda.VisibleGpus;
import io.jrun.comm.group.GroupRegistry;
import io.jrun.comm.mpi.MpiJob;
import io.jrun.comm.record.RankRecord;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A world whose ranks mpirun, or srun with PMIx, has started. There is no agent. The ranks exchange their addresses and
 * the data plane's secret over MPI. The world has neither a store nor reports of departed ranks.
 */
final class MpiWorld {
    private static final int SECRET_BYTES = 32;

    /**
     * The limit of the wait for MPI_Finalize, which waits for every rank. A failed rank may never call MPI_Finalize.
     */
    private static final long END_GRACE_MILLIS = 10_000;

    private MpiWorld() {}

    /** @throws CommException USAGE or SYSTEM under the conditions of {@link Distributed#init} */
    static JoinedWorld join(Map<String, String> variables) {
        WorkerEnvironment.Reader settings = new WorkerEnvironment.Reader(variables);
        MpiJob job = MpiJob.join();
        List<String> hosts = job.exchange(host());
        List<String> nodes = hosts.stream().distinct().toList();
        ServerSocketChannel listener = TransportSelection.needsListener(settings.transport(), nodes.size())
                ? ListenerSocket.open(nodes.size() == 1)
                : null;
        List<String> secrets = job.exchange(randomHex());
        List<String> addresses = job.exchange(address(nodes.size() == 1));
        List<String> ports = job.exchange(Integer.toString(ListenerSocket.port(listener)));
        List<String> pids = job.exchange(Long.toString(ProcessHandle.current().pid()));
        List<Peer> peers = new ArrayList<>();
        for (int rank = 0; rank < job.size(); rank++) {
            String host = hosts.get(rank);
            int localRank =
                    (int) hosts.subList(0, rank).stream().filter(host::equals).count();
            peers.add(new Peer(
                    rank,
                    nodes.indexOf(host),
                    localRank,
                    host,
                    addresses.get(rank),
                    Integer.parseInt(ports.get(rank)),
                    Long.parseLong(pids.get(rank))));
        }
        Peer self = peers.get(job.rank());
        int localSize = (int) hosts.stream().filter(self.host()::equals).count();
        String runId = "mpi-" + secrets.getFirst().substring(0, Long.BYTES);
        WorldIdentity identity = new WorldIdentity(
                self.rank(),
                job.size(),
                self.localRank(),
                localSize,
                self.nodeRank(),
                nodes.size(),
                self.host(),
                runId,
                0,
                VisibleGpus.of(variables).deviceOf(self.localRank()));
        WorldContext context = new WorldContext(
                runId,
                0,
                self.rank(),
                Bytes.of(HexFormat.of().parseHex(secrets.getFirst())),
                peers,
                Optional.ofNullable(listener));
        GroupRegistry registry = new GroupRegistry(
                TransportSelection.of(settings.transport(), nodes.size(), settings.tcpOptions()),
                Optional.empty(),
                true);
        return new JoinedWorld(identity, context, new MpiControl(job), job, registry, settings.groupOptions());
    }

    private static String host() {
        try {
            return Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
        } catch (IOException e) {
            throw new CommException(ErrorCode.SYSTEM, "cannot read this machine's name: " + e.getMessage(), e);
        }
    }

    private static String address(boolean sameNode) {
        try {
            InetAddress address = sameNode ? InetAddress.getLoopbackAddress() : InetAddress.getLocalHost();
            return address.getHostAddress();
        } catch (UnknownHostException e) {
            throw new CommException(
                    ErrorCode.SYSTEM,
                    "this machine's name has no address: " + e.getMessage() + ". Correct /etc/hosts.",
                    e);
        }
    }

    private static String randomHex() {
        byte[] random = new byte[SECRET_BYTES];
        new SecureRandom().nextBytes(random);
        return HexFormat.of().formatHex(random);
    }

    /** A control connection without a coordinator. The end of the world finalizes MPI. */
    private record MpiControl(MpiJob job, AtomicBoolean gone) implements Control {
        MpiControl(MpiJob job) {
            this(job, new AtomicBoolean());
        }

        @Override
        public CompletableFuture<StoreReply> submit(StoreCommand command) {
            return CompletableFuture.failedFuture(new IOException(
                    "there is no store in a job that MPI has started. Start the program with jrun to get a store"));
        }

        @Override
        public CompletableFuture<RankRecord> locate(int rank, String group, long sequence) {
            return NONE.locate(rank, group, sequence);
        }

        @Override
        public void leave() {
            if (gone.getAndSet(true)) {
                return;
            }
            Thread ending = RuntimeThread.start("mpi-end", job::end);
            try {
                ending.join(END_GRACE_MILLIS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
