package io.jrun.comm;

import io.jrun.comm.local.LocalWorldOptions;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/**
 * A data plane and the number of ranks on each node: {@code SHM 3}, {@code TCP 4}; {@code 2+1} is two ranks on one node
 * and one on another.
 */
record Plane(TransportKind transport, List<Integer> nodes) {
    static Plane of(String text) {
        List<String> words = List.of(text.split(" "));
        TransportKind transport = words.size() == 1 ? TransportKind.AUTO : TransportKind.valueOf(words.getFirst());
        return new Plane(
                transport,
                Arrays.stream(words.getLast().split("\\+"))
                        .map(Integer::valueOf)
                        .toList());
    }

    int size() {
        return nodes.stream().mapToInt(Integer::intValue).sum();
    }

    LocalWorldOptions world() {
        return LocalWorldOptions.ofNodes(nodes).withTransport(transport).withTimeout(Duration.ofSeconds(30));
    }

    @Override
    public String toString() {
        String ranks = nodes.stream().map(String::valueOf).collect(Collectors.joining("+"));
        return transport == TransportKind.AUTO ? ranks : transport + " " + ranks;
    }
}
