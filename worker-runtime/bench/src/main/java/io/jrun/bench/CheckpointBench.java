package io.jrun.bench;

import io.jrun.bench.collective.Benchmark;
import io.jrun.bench.collective.ByteSize;
import io.jrun.bench.collective.Decimals;
import io.jrun.bench.collective.OptionLimits;
import io.jrun.bench.collective.Samples;
import io.jrun.comm.DataType;
import io.jrun.comm.Distributed;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.World;
import io.jrun.train.Libtorch;
import io.jrun.train.checkpoint.sharded.CheckpointManager;
import io.jrun.train.checkpoint.sharded.PeerSnapshots;
import io.jrun.train.checkpoint.sharded.Retention;
import io.jrun.train.checkpoint.sharded.StateDict;
import io.jrun.train.json.JsonWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * Measures checkpoints beside the limits of the machine: writes beside dd with fsync, reads beside a copy of mapped
 * files, copies of the state beside plain copies. Everything runs in turns within one run. A time is the time of the
 * slowest rank.
 */
@Command(
        name = "checkpoint",
        mixinStandardHelpOptions = true,
        showDefaultValues = true,
        abbreviateSynopsis = true,
        optionListHeading = "%nOptions:%n",
        description = "Times saves, loads and snapshots of a sharded state, beside dd and plain copies.")
final class CheckpointBench implements Benchmark {
    /** A rank holds its part of the state, and the source and the target of the plain copies. */
    private static final double COPIES = 3;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(
            names = "--bytes",
            paramLabel = "BYTES",
            defaultValue = "1G",
            converter = ByteSize.Converter.class,
            description = "size of the state of all ranks together")
    private ByteSize bytes = new ByteSize(1);

    @Option(names = "--dir", paramLabel = "DIR", description = "folder for the files; must be empty or new")
    private @Nullable Path folder;

    @Option(names = "--iters", paramLabel = "N", defaultValue = "3", description = "measured turns")
    private int iters = 3;

    @Option(names = "--json", description = "one JSON object instead of the table")
    private boolean json;

    private final Map<String, double[]> nanos = new LinkedHashMap<>();

    private interface Measured {
        void run() throws IOException;
    }

    @Override
    public void check() {
        OptionLimits.check(spec, "--iters", iters, 1, OptionLimits.MOST_CALLS);
        if (folder == null) {
            throw new ParameterException(spec.commandLine(), "--dir=DIR is missing: the folder for the files");
        }
    }

    @Override
    public void run() {
        check();
        Path place = Objects.requireNonNull(folder);
        try (World world = Distributed.init()) {
            OptionLimits.checkMemory("--bytes", bytes.bytes(), COPIES / world.size(), world);
            run(world, place);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void run(World world, Path place) throws IOException {
        try (CheckpointFiles files = new CheckpointFiles(place, world.rank(), bytes.bytes() / world.size());
                CheckpointManager manager = CheckpointManager.open(
                        files.checkpoints().toString(), world.group(), world.runId(), new Retention(1, 0));
                PeerSnapshots snapshots = new PeerSnapshots(Math.min(2, world.size()))) {
            Libtorch.setThreads(1);
            StateDict state = files.state(world.size());
            for (int turn = -1; turn < iters; turn++) { // the first turn takes the memory and warms up
                measure(world, files, manager, snapshots, state, turn);
            }
            if (world.rank() == 0) {
                print(world.size());
            }
        }
    }

    private void measure(
            World world,
            CheckpointFiles files,
            CheckpointManager manager,
            PeerSnapshots snapshots,
            StateDict state,
            int turn)
            throws IOException {
        long step = turn + 2L;
        time(world, "dd", turn, files::dd);
        time(world, "save", turn, () -> manager.save(2 * step, state));
        time(world, "mapped copy", turn, files::copyMapped);
        time(world, "load", turn, () -> manager.open(2 * step).load(state));
        time(world, "plain copy", turn, files::copy);
        time(world, "stall of saveAsync", turn, () -> manager.saveAsync(2 * step + 1, state));
        manager.await();
        time(world, "two plain copies", turn, () -> {
            files.copy();
            files.copy();
        });
        time(world, "peer snapshot", turn, () -> snapshots.take(world, step, state));
    }

    private void time(World world, String name, int turn, Measured measured) throws IOException {
        world.group().barrier();
        long start = System.nanoTime();
        measured.run();
        double[] slowest = {System.nanoTime() - start};
        world.group().allReduce(MemorySegment.ofArray(slowest), DataType.F64, 1, ReduceOp.MAX);
        if (turn >= 0) {
            nanos.computeIfAbsent(name, _ -> new double[iters])[turn] = slowest[0];
        }
    }

    private void print(int ranks) {
        if (json) {
            System.out.println(object(ranks));
            return;
        }
        System.out.printf("# %d ranks, %d MiB of state, medians of %d turns%n", ranks, bytes.bytes() >> 20, iters);
        System.out.printf("%-20s %12s %12s %12s%n", "what", "median ms", "min ms", "MB/s");
        nanos.forEach((name, each) -> {
            Samples samples = new Samples(each);
            System.out.printf(
                    Locale.ROOT,
                    "%-20s %12.1f %12.1f %12.0f%n",
                    name,
                    samples.medianNanos() / 1e6,
                    samples.minNanos() / 1e6,
                    bytes.bytes() / 1e6 / (samples.medianNanos() / 1e9));
        });
    }

    private String object(int ranks) {
        Map<String, @Nullable Object> object = new LinkedHashMap<>();
        object.put("op", "checkpoint");
        object.put("ranks", ranks);
        object.put("bytes", bytes.bytes());
        nanos.forEach((name, each) ->
                object.put(camelCase(name) + "Millis", Decimals.millis(new Samples(each).medianNanos())));
        return JsonWriter.write(object);
    }

    private static String camelCase(String words) {
        StringBuilder name = new StringBuilder();
        for (String word : words.split(" ", -1)) {
            name.append(name.isEmpty() ? word : word.substring(0, 1).toUpperCase(Locale.ROOT) + word.substring(1));
        }
        return name.toString();
    }
}
