package io.jrun.train.gloo;

import io.jrun.train.Libtorch;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.SizeTPointer;
import org.bytedeco.javacpp.chrono.Milliseconds;
import org.bytedeco.pytorch.GlooDeviceVector;
import org.bytedeco.pytorch.PrefixStore;
import org.bytedeco.pytorch.ProcessGroupGloo;
import org.bytedeco.pytorch.Store;
import org.bytedeco.pytorch.TCPStore;
import org.bytedeco.pytorch.TCPStoreOptions;

/**
 * A ProcessGroupGloo and the libtorch store its ranks met through.
 *
 * @param group connected
 * @param store may be handed over any number of times
 * @param made what these two are made of, and they, in this order
 */
public record GlooRendezvous(ProcessGroupGloo group, Store store, List<Pointer> made) implements AutoCloseable {
    /**
     * Everything of c10d that was made here and is not closed: where the garbage collector chooses the order, JavaCPP's
     * destructor of a store that has been handed over fails an assertion of libtorch, which ends the process.
     */
    private static final Set<Pointer> KEPT =
            Collections.synchronizedSet(Collections.newSetFromMap(new IdentityHashMap<>()));

    /** Gloo's threads for one group: what torch.distributed takes. */
    private static final int THREADS = 2;

    /**
     * Meets the other ranks of a group. Collective; rank 0 opens a store on a free port.
     *
     * @param addresses numeric, by rank
     * @param announce gives everybody what rank 0 passes
     * @param timeout of the meeting, and of an operation that does not name one
     * @throws RuntimeException of libtorch, if they do not all come in time
     */
    public static GlooRendezvous open(
            int rank, List<String> addresses, UnaryOperator<byte[]> announce, Duration timeout) {
        Libtorch.load();
        int size = addresses.size();
        TCPStoreOptions options = new TCPStoreOptions();
        options.isServer(rank == 0);
        options.waitWorkers(false);
        options.timeout(new Milliseconds(timeout.toMillis()));
        SizeTPointer workers = new SizeTPointer(1);
        workers.put(size);
        options.numWorkers(workers);
        TCPStore tcpStore;
        if (rank == 0) {
            options.port((short) 0);
            tcpStore = kept(new TCPStore(addresses.getFirst(), options));
            byte[] _ =
                    announce.apply(Integer.toString(tcpStore.getPort() & 0xffff).getBytes(StandardCharsets.US_ASCII));
        } else {
            String port = new String(announce.apply(new byte[0]), StandardCharsets.US_ASCII);
            options.port((short) Integer.parseInt(port));
            tcpStore = kept(new TCPStore(addresses.getFirst(), options));
        }
        // A store made in Java can be handed over only once; the one inside a PrefixStore any number of times.
        PrefixStore first = kept(new PrefixStore("", tcpStore));
        Store shared = kept(first.getUnderlyingStore());
        ProcessGroupGloo.Options glooOptions =
                kept(ProcessGroupGloo.Options.create(new Milliseconds(timeout.toMillis())));
        glooOptions.devices(new GlooDeviceVector(ProcessGroupGloo.createDeviceForHostname(addresses.get(rank))));
        glooOptions.threads(THREADS);
        PrefixStore own = kept(new PrefixStore("gloo", shared));
        ProcessGroupGloo group = NativeStdout.toStderr(() -> kept(new ProcessGroupGloo(own, rank, size, glooOptions)));
        return new GlooRendezvous(group, shared, List.of(tcpStore, first, shared, glooOptions, own, group));
    }

    /** Ends the connections and the store, the youngest object first. Nothing may be under way, here or on other ranks. */
    @Override
    public void close() {
        for (Pointer object : made.reversed()) {
            object.deallocate();
            KEPT.remove(object);
        }
    }

    /** Keeps {@code object} from being collected, and from ending with a PointerScope that is open. */
    public static <P extends Pointer> P kept(P object) {
        object.retainReference();
        KEPT.add(object);
        return object;
    }
}
