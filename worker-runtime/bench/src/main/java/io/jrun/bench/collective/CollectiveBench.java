package io.jrun.bench.collective;

import io.jrun.comm.DataType;
import io.jrun.comm.Distributed;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.World;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * Measures one operation over a range of sizes, on one backend, or alternately on several backends within each size.
 */
@Command(
        mixinStandardHelpOptions = true,
        showDefaultValues = true,
        abbreviateSynopsis = true,
        optionListHeading = "%nOptions:%n")
public final class CollectiveBench implements Benchmark {
    /** All operations, in the order of the help. */
    static final List<BenchedOperation> OPERATIONS = List.of(
            new AllReduce(),
            new AllGather(),
            new ReduceScatter(),
            new Broadcast(),
            new Reduce(),
            new Gather(),
            new Scatter(),
            new AllToAll(),
            new SendRecv(),
            new Barrier());

    private final BenchedOperation operation;

    @Spec
    private CommandSpec spec = CommandSpec.create();

    @Option(
            names = "--backend",
            paramLabel = "NAME",
            split = ",",
            defaultValue = "jrun",
            description = "one or several backends, alternately: ${COMPLETION-CANDIDATES};"
                    + " with mpi, mpirun starts the ranks")
    private List<BackendName> backends = List.of();

    @Option(
            names = "--memory",
            paramLabel = "KIND",
            split = ",",
            defaultValue = "registered",
            description = "memory of jrun's buffers, one kind or several: ${COMPLETION-CANDIDATES}; other backends use"
                    + " their usual memory")
    private List<MemoryKind> memories = List.of();

    @Option(
            names = "--type",
            paramLabel = "TYPE",
            defaultValue = "f32",
            description = "f16, bf16, f32, f64, i8, u8, i32, i64 or bool")
    private BenchType type = BenchType.f32;

    @Option(
            names = "--op",
            paramLabel = "OP",
            defaultValue = "sum",
            description = "operator of reductions: ${COMPLETION-CANDIDATES}")
    private OpName op = OpName.sum;

    @Option(
            names = "--min-bytes",
            paramLabel = "BYTES",
            defaultValue = "4",
            converter = ByteSize.Converter.class,
            description = "first size")
    private ByteSize minBytes = new ByteSize(4);

    @Option(
            names = "--max-bytes",
            paramLabel = "BYTES",
            defaultValue = "64M",
            converter = ByteSize.Converter.class,
            description = "last size")
    private ByteSize maxBytes = new ByteSize(64 << 20);

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
            names = "--warmup-iters",
            paramLabel = "N",
            defaultValue = "2000",
            description = "calls before the first size")
    private int warmupIters = 2000;

    @Option(names = "--json", description = "one JSON object a line instead of the table")
    private boolean json;

    /** The values of {@code --backend}, each with the usual memory of its users. */
    private enum BackendName {
        jrun(MemoryKind.registered),
        gloo(MemoryKind.tensor),
        nccl(MemoryKind.registered),
        mpi(MemoryKind.direct);

        private final MemoryKind usual;

        BackendName(MemoryKind usual) {
            this.usual = usual;
        }
    }

    /** The values of {@code --type}. */
    private enum BenchType {
        f16(DataType.F16),
        bf16(DataType.BF16),
        f32(DataType.F32),
        f64(DataType.F64),
        i8(DataType.I8),
        u8(DataType.U8),
        i32(DataType.I32),
        i64(DataType.I64),
        bool(DataType.BOOL);

        private final DataType type;

        BenchType(DataType type) {
            this.type = type;
        }
    }

    /** The values of {@code --op}. */
    private enum OpName {
        sum(ReduceOp.SUM),
        avg(ReduceOp.AVG),
        min(ReduceOp.MIN),
        max(ReduceOp.MAX),
        prod(ReduceOp.PROD),
        band(ReduceOp.BAND),
        bor(ReduceOp.BOR),
        bxor(ReduceOp.BXOR);

        private final ReduceOp op;

        OpName(ReduceOp op) {
            this.op = op;
        }
    }

    private CollectiveBench(BenchedOperation operation) {
        this.operation = operation;
    }

    /** Adds a sub-command for each operation. */
    public static void addTo(CommandLine parent) {
        for (BenchedOperation operation : OPERATIONS) {
            CommandLine command = new CommandLine(new CollectiveBench(operation));
            command.getCommandSpec()
                    .usageMessage()
                    .description(
                            "Times and checks " + operation.name() + ".",
                            "The table has time, bandwidth and wrong elements for each size"
                                    + " and backend, and the ratios of"
                                    + " the times.");
            parent.addSubcommand(operation.name(), command);
        }
        parent.addSubcommand("--tune", new TuneBench());
        parent.addSubcommand("memory", new MemoryBench());
    }

    @Override
    public void run() {
        check();
        try (World world = Distributed.init()) {
            OptionLimits.checkMemory("--max-bytes", maxBytes.bytes(), 1, world);
            List<ComparedBackend> peers = peers(world);
            Measurement measurement = new Measurement(operation, type.type, op.op, world.group(), iters);
            Report report = new Report(System.out, json, operation, type.type, op.op, world);
            measurement.warmUp(peers, maxBytes.bytes(), warmupIters);
            if (world.rank() == 0) {
                report.begin(peers);
            }
            long wrong = 0;
            long last = operation.hasSize() ? maxBytes.bytes() : minBytes.bytes();
            for (long bytes = minBytes.bytes(); bytes <= last; bytes *= stepFactor) {
                List<Measurement.Result> results = measurement.measure(peers, bytes);
                wrong += results.stream().mapToLong(Measurement.Result::errors).sum();
                if (world.rank() == 0) {
                    report.add(results);
                }
            }
            world.group().barrier();
            peers.forEach(ComparedBackend::close);
            if (wrong > 0) {
                throw new IllegalStateException(wrong + " wrong elements; the column errors counts them for each size");
            }
        }
    }

    @Override
    public void check() {
        OptionLimits.check(spec, "--step-factor", stepFactor, 2, OptionLimits.MOST_FACTOR);
        OptionLimits.check(spec, "--iters", iters, 0, OptionLimits.MOST_CALLS);
        OptionLimits.check(spec, "--warmup-iters", warmupIters, 1, OptionLimits.MOST_CALLS);
        if (minBytes.bytes() > maxBytes.bytes()) {
            throw wrong("--min-bytes=" + minBytes.bytes() + " is more than --max-bytes=" + maxBytes.bytes());
        }
        if (operation.reduces() && !op.op.supports(type.type)) {
            throw wrong("--op=" + op + " has no meaning for --type=" + type);
        }
    }

    private ParameterException wrong(String what) {
        return new ParameterException(spec.commandLine(), what);
    }

    private List<ComparedBackend> peers(World world) {
        boolean hasResult = operation.hasBlocks() || operation instanceof SendRecv;
        // The buffer has one more block, because sizes are rounded up to whole blocks.
        long bytes = maxBytes.bytes() + (long) world.size() * type.type.sizeBytes();
        List<ComparedBackend> peers = new ArrayList<>();
        for (BackendName backend : new LinkedHashSet<>(backends)) {
            List<MemoryKind> kinds = backend == BackendName.jrun ? memories : List.of(backend.usual);
            for (MemoryKind memory : new LinkedHashSet<>(kinds)) {
                peers.add(new ComparedBackend(world, backend.name(), memory, bytes, hasResult));
            }
        }
        return peers;
    }
}
