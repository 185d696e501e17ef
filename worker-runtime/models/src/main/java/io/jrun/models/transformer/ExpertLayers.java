package io.jrun.models.transformer;

import io.jrun.comm.Device;
import io.jrun.train.expert.ExpertNetwork;
import io.jrun.train.expert.ExpertOptions;
import io.jrun.train.expert.MixtureOfExperts;
import io.jrun.train.tensorparallel.ParallelStyle;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The layers of a model that have experts in place of a feed-forward layer.
 *
 * @param interval each layer of this number has experts: with 2 the second, the fourth, ...; 0 for no layer
 * @param options the settings of all these layers
 */
public record ExpertLayers(int interval, ExpertOptions options) {
    /** A model without experts. */
    public static final ExpertLayers NONE = new ExpertLayers(0, new ExpertOptions(1, 1, 0, 0, 0));

    /** Whether a layer, counted from 0, has experts. */
    public boolean isAt(long layer) {
        return interval > 0 && (layer + 1) % interval == 0;
    }

    /** A new layer of experts on a device. */
    public MixtureOfExperts layer(ExpertNetwork.Kind kind, long width, long inner, Device device) {
        return new MixtureOfExperts(kind, width, inner, options, device);
    }

    /**
     * The part of a plan by which tensor parallel ranks share a model with these layers. Each rank computes the layers
     * of experts completely.
     *
     * @param plan of the same model without experts, whose feed-forward layers have the name mlp
     */
    public Map<String, ParallelStyle> planOfOthers(Map<String, ParallelStyle> plan) {
        Map<String, ParallelStyle> ofOthers = new LinkedHashMap<>(plan);
        if (interval == 1) {
            ofOthers.keySet().removeIf(name -> name.contains(".mlp."));
        }
        return ofOthers;
    }

    /** Throws {@link IllegalStateException} if a layer has experts. */
    public void requireNone(String purpose) {
        if (interval > 0) {
            throw new IllegalStateException("a model with experts has no " + purpose);
        }
    }
}
