package io.jrun.bench.gpu;

import io.jrun.comm.Codec;
import io.jrun.comm.World;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

/** Runs checks on all ranks. Rank 0 prints a line for each check. Every rank runs the same checks in the same order. */
final class CheckReport {
    private static final String PASS = "PASS";
    private static final String SKIPPED = "SKIPPED";
    private static final String FAIL = "FAIL";

    /** A check. Returns its observation as text. */
    interface Check {
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
    void check(String name, Check check) {
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

    private static String outcome(Check check) {
        try {
            return PASS + " " + check.run();
        } catch (CheckSkippedException why) {
            return SKIPPED + " " + why.getMessage();
        } catch (Exception | LinkageError failure) {
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
            System.out.println(isJson ? json(name, status, detail) : "%-8s%-20s%s".formatted(status, name, detail));
        }
    }

    private static String json(String name, String status, String detail) {
        return "{\"check\":\"%s\",\"status\":\"%s\",\"detail\":\"%s\"}".formatted(name, status, escaped(detail));
    }

    private static String escaped(String text) {
        StringBuilder out = new StringBuilder();
        text.chars().forEach(c -> {
            if (c == '"' || c == '\\') {
                out.append('\\').append((char) c);
            } else if (c < ' ') {
                out.append("\\u%04x".formatted(c));
            } else {
                out.append((char) c);
            }
        });
        return out.toString();
    }
}
