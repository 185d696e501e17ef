package io.jrun.train.fsdp;

import io.jrun.train.mesh.ShardedTensor;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/** The parameters of all units by name: this rank's rows, or gathered. */
record ParameterShards(FsdpPass pass) {
    /** The rows that this rank keeps. */
    Map<String, ShardedTensor> parameters() {
        Map<String, ShardedTensor> shards = new LinkedHashMap<>();
        for (FsdpUnit unit : pass.units()) {
            for (int i = 0; i < unit.parameters().count(); i++) {
                String name = unit.parameters().name(i);
                shards.put(name, ShardedTensor.of(name, unit.parameters().shard(i)));
            }
        }
        return shards;
    }

    /** Gathers the units one after the other and calls {@code read} with each whole parameter. */
    <T> Map<String, T> readWhole(BiFunction<String, Tensor, T> read) {
        pass.requireClosed();
        Map<String, T> results = new LinkedHashMap<>();
        List<FsdpUnit> units = pass.units();
        ReadAhead readAhead = new ReadAhead();
        for (int at = 0; at < units.size(); at++) {
            FsdpUnit unit = units.get(at);
            readAhead.begin(units, at);
            readAhead.begin(units, at + 1);
            unit.gather();
            try (PointerScope _ = new PointerScope()) {
                for (int i = 0; i < unit.parameters().count(); i++) {
                    String name = unit.parameters().name(i);
                    results.put(name, read.apply(name, unit.parameters().whole(i)));
                }
            }
            unit.reshard();
        }
        return results;
    }
}
