package io.jrun.bench.collective;

import io.jrun.comm.Codec;
import io.jrun.comm.CommException;
import io.jrun.comm.DataType;
import io.jrun.comm.Distributed;
import io.jrun.comm.ErrorCode;
import io.jrun.comm.GroupOptions;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.TransportKind;
import io.jrun.comm.World;
import io.jrun.comm.backend.OpKind;
import io.jrun.comm.collective.Algorithm;
import io.jrun.comm.collective.AlgorithmSelector;
import io.jrun.comm.collective.TuningTable;
import io.jrun.comm.collective.TuningTable.Rule;
import io.jrun.comm.file.FileError;
import io.jrun.comm.file.OutputFile;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Measures every TCP algorithm of every operation at every size, and writes a table for JRUN_TUNING. */
@Command(
        mixinStandardHelpOptions = true,
        showDefaultValues = true,
        abbreviateSynopsis = true,
        optionListHeading = "%nOptions:%n",
        description =
                "Forces every TCP algorithm of each operation at each size and writes the table that JRUN_TUNING names:"
                        + " jrun bench --tune --hosts h1,h2 --secret-file PATH, one rank on each host.")
final class TuneBench implements Benchmark {
    private static final int WARM_UP_CALLS = 1000;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(
            names = "--operations",
            paramLabel = "NAME",
            split = ",",
            defaultValue = "allreduce,reducescatter,allgather,broadcast,reduce,gather,scatter",
            description = "operations to measure, of those with several algorithms")
    private List<String> operations = List.of();

    @Option(
            names = "--min-bytes",
            paramLabel = "BYTES",
            defaultValue = "1K",
            converter = ByteSize.Converter.class,
            description = "first size")
    private ByteSize minBytes = new ByteSize(1);

    @Option(
            names = "--max-bytes",
            paramLabel = "BYTES",
            defaultValue = "16M",
            converter = ByteSize.Converter.class,
            description = "last size")
    private ByteSize maxBytes = new ByteSize(1);

    @Option(
            names = "--step-factor",
            paramLabel = "N",
            defaultValue = "4",
            description = "factor from one size to the next")
    private int stepFactor = 4;

    @Option(
            names = "--iters",
            paramLabel = "N",
            defaultValue = "0",
            description = "samples of a turn; 0: the number that fills 0.2 s, 3 to 60")
    private int iters;

    @Option(
            names = "--output",
            paramLabel = "PATH",
            defaultValue = "jrun-tuning.txt",
            description = "file of the table; rank 0 writes the file")
    private Path output = Path.of("");

    @Override
    public void check() {
        OptionLimits.check(spec, "--step-factor", stepFactor, 2, OptionLimits.MOST_FACTOR);
        OptionLimits.check(spec, "--iters", iters, 0, OptionLimits.MOST_CALLS);
        if (minBytes.bytes() > maxBytes.bytes()) {
            throw wrong("--min-bytes=" + minBytes.bytes() + " is more than --max-bytes=" + maxBytes.bytes());
        }
        for (String operation : operations) {
            if (kind(operation)
                    .filter(kind -> AlgorithmSelector.candidates(kind).size() > 1)
                    .isEmpty()) {
                throw wrong("--operations: '" + operation + "' does not have several algorithms");
            }
        }
    }

    private ParameterException wrong(String what) {
        return new ParameterException(spec.commandLine(), what);
    }

    @Override
    public void run() {
        check();
        try (World world = Distributed.init()) {
            boolean isTcp = TransportKind.TCP.name().equalsIgnoreCase(System.getenv("JRUN_TRANSPORT"));
            if (world.size() < 2 || (!isTcp && world.nodeCount() < world.size())) {
                throw new CommException(
                        ErrorCode.USAGE,
                        "--tune: the ranks must communicate over TCP, but there are " + world.size() + " ranks on "
                                + world.nodeCount()
                                + " nodes. Name several hosts with one rank on each, or set JRUN_TRANSPORT=tcp.");
            }
            OptionLimits.checkMemory("--max-bytes", maxBytes.bytes(), 1, world);
            if (!isWritable(world)) {
                return;
            }
            List<Rule> rules = new ArrayList<>();
            for (String operation : operations) {
                rules.addAll(tune(world, benchedOperation(operation)));
            }
            if (world.rank() == 0) {
                write(new TuningTable(rules));
            }
        }
    }

    /**
     * Whether rank 0 can write the file. The measurement takes minutes, so the ranks ask before. Collective.
     *
     * @throws CommException on rank 0 if not; the other ranks end without a second message
     */
    private boolean isWritable(World world) {
        IOException failure = null;
        if (world.rank() == 0) {
            try {
                OutputFile.requireWritable(output);
            } catch (IOException e) {
                failure = e;
            }
        }
        List<String> failures = world.group().objects().allGather(failure == null ? "" : "failed", Codec.STRING);
        if (failure != null) {
            throw unwritable(failure);
        }
        return failures.stream().allMatch(String::isEmpty);
    }

    private List<Rule> tune(World world, BenchedOperation operation) {
        OpKind kind = kind(operation.name()).orElseThrow();
        List<Algorithm> algorithms = AlgorithmSelector.candidates(kind);
        List<ComparedBackend> peers = algorithms.stream()
                .map(algorithm -> peer(world, operation, algorithm))
                .toList();
        Measurement measurement = new Measurement(operation, DataType.F32, ReduceOp.SUM, world.group(), iters);
        measurement.warmUp(peers, maxBytes.bytes(), WARM_UP_CALLS);
        Tuning tuning = new Tuning(kind, world.size());
        for (long bytes = minBytes.bytes(); bytes <= maxBytes.bytes(); bytes *= stepFactor) {
            List<Measurement.Result> results = measurement.measure(peers, bytes);
            Map<Algorithm, Double> micros = new EnumMap<>(Algorithm.class);
            for (int i = 0; i < results.size(); i++) {
                Measurement.Result result = results.get(i);
                if (result.errors() > 0) {
                    throw new IllegalStateException(result.errors() + " wrong elements of " + operation.name() + " by "
                            + algorithms.get(i).label() + " at " + result.bytes() + " bytes");
                }
                micros.put(algorithms.get(i), result.samples().medianNanos() / 1e3);
            }
            long chosenBy = results.getFirst().bytes() / (operation.hasBlocks() ? world.size() : 1);
            Tuning.Size size = tuning.add(chosenBy, micros);
            if (world.rank() == 0) {
                print(kind, size, algorithms);
            }
        }
        world.group().barrier();
        peers.forEach(ComparedBackend::close);
        return tuning.rules();
    }

    /** Makes a group that uses only {@code algorithm}. */
    private ComparedBackend peer(World world, BenchedOperation operation, Algorithm algorithm) {
        GroupOptions options = world.group().options().withAlgorithm(algorithm.label());
        long bytes = maxBytes.bytes() + (long) world.size() * DataType.F32.sizeBytes();
        return new ComparedBackend(world, options, MemoryKind.registered, bytes, operation.hasBlocks());
    }

    private static void print(OpKind kind, Tuning.Size size, List<Algorithm> algorithms) {
        String times = algorithms.stream()
                .map(algorithm -> String.format(Locale.ROOT, "%s %.1f us", algorithm.label(), size.time(algorithm)))
                .collect(Collectors.joining(", "));
        Algorithm chosen = size.chosen();
        String verdict = chosen == size.builtIn()
                ? "as built in"
                : String.format(
                        Locale.ROOT,
                        "%.2fx the built-in %s",
                        size.loss(chosen),
                        size.builtIn().label());
        System.out.printf(
                Locale.ROOT,
                "%-13s %10d B  %-18s %s (%s)%n",
                kind.methodName(),
                size.bytes(),
                chosen.label(),
                verdict,
                times);
    }

    private void write(TuningTable table) {
        try {
            OutputFile.replace(output, table.render().getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw unwritable(e);
        }
        System.out.println(
                "written to " + output.toAbsolutePath() + "; copy the file to every node, set JRUN_TUNING to its path");
    }

    private CommException unwritable(IOException e) {
        return new CommException(
                ErrorCode.USAGE, "--tune: cannot write --output=" + output + ": " + FileError.reason(e, output), e);
    }

    private static BenchedOperation benchedOperation(String operation) {
        return CollectiveBench.OPERATIONS.stream()
                .filter(benchedOperation -> benchedOperation.name().equals(operation))
                .findFirst()
                .orElseThrow();
    }

    private static Optional<OpKind> kind(String operation) {
        return Arrays.stream(OpKind.values())
                .filter(kind -> kind.methodName().toLowerCase(Locale.ROOT).equals(operation))
                .findFirst();
    }
}
