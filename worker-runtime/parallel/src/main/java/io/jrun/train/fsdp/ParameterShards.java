package io.jrun.train.fsdp;

import io.jrun.train.mesh.Shard;
import io.jrun.train.mesh.ShardedTensor;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;

/** The parameters of all units by name: this rank's rows, or gathered. */
record ParameterShards(FsdpPass pass) {
    /** The rows that this rank keeps, without parameters of which this rank keeps no row. */
    Map<String, Tensor> parameters() {
        Map<String, Tensor> shards = new LinkedHashMap<>();
        forEach((unit, i) -> {
            if (unit.shard(i).numel() > 0) {
                shards.put(unit.name(i), unit.shard(i));
            }
        });
        return shards;
    }

    /** The rows that this rank keeps, as tensors of a mesh. */
    Map<String, ShardedTensor> onAxis(String axis) {
        Map<String, ShardedTensor> shards = new LinkedHashMap<>();
        forEach((unit, i) -> shards.put(
                unit.name(i),
                new ShardedTensor(
                        unit.name(i),
                        Arrays.stream(unit.shape(i)).boxed().toList(),
                        Map.of(axis, new Shard(0)),
                        unit.shard(i))));
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

    private void forEach(BiConsumer<UnitParameters, Integer> visitor) {
        for (FsdpUnit unit : pass.units()) {
            for (int i = 0; i < unit.parameters().count(); i++) {
                visitor.accept(unit.parameters(), i);
            }
        }
    }
}
