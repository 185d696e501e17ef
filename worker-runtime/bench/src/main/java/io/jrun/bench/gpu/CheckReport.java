package io.jrun.bench.gpu;

import io.jrun.comm.Codec;
import io.jrun.comm.CommException;
import io.jrun.comm.World;
import io.jrun.train.json.JsonWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/** Runs checks on all ranks. Rank 0 prints a line for each check. Every rank runs the same checks in the same order. */
final class CheckReport {
    private static final String PASS = "PASS";
    private static final String SKIPPED = "SKIPPED";
    private static final String FAIL = "FAIL";

    /** A check on one rank. Returns the observation of the rank as text. */
    interface RankCheck {
        String run() throws Exception;
    }

    private final World world;
    private final boolean isJson;
    private boolean hasFailed;

    CheckReport(World world, boolean isJson) {
        this.world = world;
        this.isJson = isJson;
    }

    /**
     * Runs a check. If one rank fails, the check has failed. If no rank fails and one rank skips, the check is skipped.
     */
    void check(String name, RankCheck check) {
        List<String> outcomes = world.group().objects().allGather(outcome(check), Codec.STRING);
        for (String status : List.of(FAIL, SKIPPED, PASS)) {
            List<String> details = details(outcomes, status);
            if (!details.isEmpty()) {
                hasFailed |= status.equals(FAIL);
                print(
                        name,
                        status,
                        String.join("; ", details.stream().distinct().toList()));
                return;
            }
        }
    }

    boolean hasFailed() {
        return hasFailed;
    }

    private static String outcome(RankCheck check) {
        try {
            return PASS + " " + check.run();
        } catch (CheckSkippedException why) {
            return SKIPPED + " " + why.getMessage();
        } catch (Exception | LinkageError failure) {
            if (!(failure instanceof CommException)) { // whose message says everything
                failure.printStackTrace();
            }
            return FAIL + " " + failure;
        }
    }

    private static List<String> details(List<String> outcomes, String status) {
        boolean namesRank = !status.equals(SKIPPED);
        return new ArrayList<>(IntStream.range(0, outcomes.size())
                .filter(rank -> outcomes.get(rank).startsWith(status + " "))
                .mapToObj(rank -> (namesRank ? "rank " + rank + ": " : "")
                        + outcomes.get(rank).substring(status.length() + 1))
                .toList());
    }

    private void print(String name, String status, String detail) {
        if (world.rank() == 0) {
            System.out.println(isJson ? json(name, status, detail) : "%-8s%-25s %s".formatted(status, name, detail));
        }
    }

    private static String json(String name, String status, String detail) {
        Map<String, Object> object = new LinkedHashMap<>();
        object.put("check", name);
        object.put("status", status);
        object.put("detail", detail);
        return JsonWriter.write(object);
    }
}
