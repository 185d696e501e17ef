package io.jrun.trainer;

import io.jrun.train.layer.CompositeModule;
import io.jrun.train.layer.LinearLayer;
import io.jrun.train.module.ModelBlock;
import io.jrun.train.recompute.DeterminismCheck;
import io.jrun.train.recompute.RecomputedSegment;
import io.jrun.trainer.arguments.CommandLineArguments;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The options of activation checkpointing.
 *
 * @param interval one block in this many is recomputed; 0 for none
 * @param kept names of linear layers of a block whose outputs are kept
 * @param check the comparison of both computations
 */
public record RecomputeOptions(int interval, List<String> kept, DeterminismCheck check) {
    static final List<String> VALUED = List.of("--recompute", "--recompute-keep", "--recompute-check");

    static RecomputeOptions of(CommandLineArguments given) {
        RecomputeOptions options = new RecomputeOptions(
                given.number("--recompute", 0, 0),
                given.text("--recompute-keep").isEmpty() ? List.of() : given.words("--recompute-keep", ""),
                given.word("--recompute-check", DeterminismCheck.FORM));
        if (options.interval == 0) {
            for (String name : List.of("--recompute-keep", "--recompute-check")) {
                if (given.has(name)) {
                    throw new InvalidArgumentException(name + " needs --recompute=N: no block is recomputed");
                }
            }
        }
        return options;
    }

    /** Makes a block a segment if it is the last of an interval. */
    void apply(ModelBlock block) {
        if (interval > 0 && block.number() % interval == interval - 1) {
            block.surround(forward -> {
                RecomputedSegment segment = kept.isEmpty()
                        ? RecomputedSegment.of(block.name(), block.module(), forward)
                        : RecomputedSegment.keeping(block.name(), ofLinearLayers(block), forward, this::keeps);
                return segment.withCheck(check)::forward;
            });
        }
    }

    private boolean keeps(String layer) {
        return kept.contains(layer.substring(layer.lastIndexOf('.') + 1)) || kept.contains(layer);
    }

    private CompositeModule ofLinearLayers(ModelBlock block) {
        CompositeModule module = block.module() instanceof CompositeModule composite ? composite : null;
        Set<String> layers = module == null
                ? Set.of()
                : module.descendants(LinearLayer.class).keySet();
        if (module == null || layers.isEmpty()) {
            throw new InvalidArgumentException("--recompute-keep names " + String.join(", ", kept) + ", but "
                    + block.name() + " is a " + block.module().getClass().getSimpleName() + " without a LinearLayer of"
                    + " io.jrun.train.layer. Leave --recompute-keep out, or make the block a CompositeModule with parts of"
                    + " the type LinearLayer.");
        }
        Set<String> unknown = new HashSet<>(kept);
        layers.forEach(layer -> {
            unknown.remove(layer);
            unknown.remove(layer.substring(layer.lastIndexOf('.') + 1));
        });
        if (!unknown.isEmpty()) {
            throw new InvalidArgumentException("--recompute-keep names " + String.join(", ", unknown) + ", but "
                    + block.name() + " has the linear layers " + String.join(", ", layers));
        }
        return module;
    }
}
