package io.jrun.bench.collective;

import io.jrun.bench.collective.Measurement.Result;
import io.jrun.comm.DataType;
import io.jrun.comm.ReduceOp;
import io.jrun.comm.World;
import io.jrun.train.json.JsonWriter;
import java.io.PrintStream;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Prints results: a table as in nccl-tests with ratios at the end of the line, or one JSON object on each line. */
final class Report {
    private final PrintStream out;
    private final boolean json;
    private final BenchedOperation operation;
    private final DataType type;
    private final ReduceOp op;
    private final int ranks;
    private final int nodes;

    Report(PrintStream out, boolean json, BenchedOperation operation, DataType type, ReduceOp op, World world) {
        this.out = out;
        this.json = json;
        this.operation = operation;
        this.type = type;
        this.op = op;
        this.ranks = world.size();
        this.nodes = world.nodeCount();
    }

    /** Prints the lines before the first size. */
    void begin(List<ComparedBackend> peers) {
        if (json) {
            return;
        }
        out.printf(
                Locale.ROOT,
                "# %s, %d %s on %d %s; a time is the slowest rank's, a size the larger of input and output%n",
                operation.name(),
                ranks,
                ranks == 1 ? "rank" : "ranks",
                nodes,
                nodes == 1 ? "node" : "nodes");
        String ratios = peers.stream()
                .skip(1)
                .map(peer -> "%12s".formatted("vs " + label(peer, peers)))
                .collect(Collectors.joining(" "));
        String line = "%12s %12s %5s %5s %-8s %-10s %12s %12s %10s %10s %7s %s"
                .formatted(
                        "size B",
                        "count",
                        "type",
                        "op",
                        "backend",
                        "memory",
                        "median us",
                        "min us",
                        "algbw GB/s",
                        "busbw GB/s",
                        "errors",
                        ratios);
        out.println(line.stripTrailing());
    }

    /** Prints one size. */
    void add(List<Result> results) {
        for (Result result : results) {
            out.println(json ? object(result) : line(result, results));
        }
        out.flush();
    }

    private String line(Result result, List<Result> all) {
        String ratios = all.stream()
                .skip(1)
                .map(other -> other.peer().equals(result.peer())
                        ? "%12s".formatted("")
                        : String.format(
                                Locale.ROOT,
                                "%11.2fx",
                                other.samples().medianNanos() / result.samples().medianNanos()))
                .collect(Collectors.joining(" "));
        return String.format(
                        Locale.ROOT,
                        "%12d %12d %5s %5s %-8s %-10s %12.2f %12.2f %10.3f %10.3f %7d %s",
                        result.bytes(),
                        result.count(),
                        type.label(),
                        reduction(),
                        result.peer().backend(),
                        result.peer().memory(),
                        result.samples().medianNanos() / 1e3,
                        result.samples().minNanos() / 1e3,
                        algGBps(result),
                        algGBps(result) * operation.busFactor(ranks),
                        result.errors(),
                        ratios)
                .stripTrailing();
    }

    private String object(Result result) {
        Map<String, @Nullable Object> object = new LinkedHashMap<>();
        object.put("op", operation.name());
        object.put("backend", result.peer().backend());
        object.put("memory", result.peer().memory().toString());
        object.put("type", type.label());
        object.put("reduction", reduction());
        object.put("ranks", ranks);
        object.put("nodes", nodes);
        object.put("bytes", result.bytes());
        object.put("medianMicros", Decimals.rounded(result.samples().medianNanos() / 1e3, 3));
        object.put("minMicros", Decimals.rounded(result.samples().minNanos() / 1e3, 3));
        object.put("algGBps", Decimals.rounded(algGBps(result), 4));
        object.put("busGBps", Decimals.rounded(algGBps(result) * operation.busFactor(ranks), 4));
        object.put("errors", result.errors());
        return JsonWriter.write(object);
    }

    /** Returns the bytes of the size per second, in GB/s (1e9). */
    private static double algGBps(Result result) {
        return result.bytes() / result.samples().medianNanos();
    }

    private String reduction() {
        return operation.reduces() ? op.name().toLowerCase(Locale.ROOT) : "none";
    }

    /** Returns the name of the backend, with the memory if the backend has several kinds. */
    private static String label(ComparedBackend peer, List<ComparedBackend> peers) {
        boolean alone = peers.stream()
                        .filter(other -> other.backend().equals(peer.backend()))
                        .count()
                == 1;
        return alone ? peer.backend() : peer.memory().name();
    }
}
