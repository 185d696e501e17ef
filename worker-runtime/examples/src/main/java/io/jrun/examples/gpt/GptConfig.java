package io.jrun.examples.gpt;

import io.jrun.comm.Device;
import io.jrun.models.gpt2.Gpt2;
import io.jrun.models.gpt2.Gpt2Config;
import io.jrun.models.llama.Llama;
import io.jrun.models.llama.LlamaConfig;
import io.jrun.models.transformer.Activation;
import io.jrun.models.transformer.ExpertLayers;
import io.jrun.models.transformer.LanguageModel;
import io.jrun.models.transformer.RotaryEmbedding.Pairs;
import io.jrun.train.tensorparallel.ParallelStyle;
import io.jrun.trainer.arguments.CommandLineArguments;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * The shape of the model.
 *
 * @param keyHeads heads of keys and values, each for some of the heads of queries
 * @param context tokens of one text
 * @param isTied whether the output layer uses the matrix of the embedding
 * @param vocabulary the number of tokens
 * @param experts the layers with experts
 */
public record GptConfig(
        ModelKind kind,
        int layers,
        int width,
        int heads,
        int keyHeads,
        int context,
        boolean isTied,
        int vocabulary,
        ExpertLayers experts) {
    static final List<String> VALUED = List.of("--model", "--layers", "--width", "--heads", "--key-heads");

    private static final int BYTES = 256;

    /** Far above all published models. A larger number is a mistake, and its products would exceed 64 bits. */
    private static final int LARGEST_WIDTH = 1 << 20;

    private static final int LARGEST_CONTEXT = 1 << 24;

    /** The width of a feed-forward layer of Llama is a multiple, so that 2 to 16 ranks can share the layer. */
    private static final long INNER_MULTIPLE = 16;

    private static final double EPSILON = 1e-5;
    private static final double ROTARY_BASE = 10_000;

    /** Refuses shapes that cannot be built. */
    public GptConfig {
        if (width % heads != 0) {
            throw new InvalidArgumentException("--width " + width + " is not a multiple of --heads " + heads);
        }
        if (heads % keyHeads != 0) {
            throw new InvalidArgumentException("--heads " + heads + " is not a multiple of --key-heads " + keyHeads);
        }
        if (kind == ModelKind.GPT && keyHeads != heads) {
            throw new InvalidArgumentException(
                    "--key-heads=" + keyHeads + " needs --model=llama: each head of GPT-2 has keys of its own");
        }
        if (kind == ModelKind.LLAMA && width / heads % 2 != 0) {
            throw new InvalidArgumentException("--model=llama turns pairs of a head's elements, but --width " + width
                    + " / --heads " + heads + " = " + width / heads + " is odd");
        }
    }

    /** Reads the options of a model of bytes. */
    static GptConfig of(CommandLineArguments given, boolean isTiny) {
        int layers = given.number("--layers", isTiny ? 2 : 3, 1, 10_000);
        int heads = given.number("--heads", isTiny ? 2 : 4, 1, LARGEST_WIDTH);
        return new GptConfig(
                given.word("--model", ModelKind.GPT),
                layers,
                given.number("--width", isTiny ? 64 : 128, 1, LARGEST_WIDTH),
                heads,
                given.number("--key-heads", heads, 1),
                given.number("--context", 64, 1, LARGEST_CONTEXT),
                !given.has("--untied"),
                BYTES,
                ExpertArguments.layers(given, layers));
    }

    /** Bytes of the parameters in float32, within a tenth. */
    double parameterBytes() {
        double square = (double) width * width;
        int feedForwards = experts.interval() == 0 ? 0 : layers / experts.interval();
        double ofExperts =
                8 * square * feedForwards * (Math.max(1, experts.options().experts()) - 1.0);
        double tables = (double) width * (vocabulary * (isTied ? 1.0 : 2.0) + context);
        return Float.BYTES * (12 * square * layers + (feedForwards == 0 ? 0 : ofExperts) + tables);
    }

    /** Bytes of the largest output of a layer for a token, in float32. */
    double outputBytes() {
        return Float.BYTES * (double) Math.max(vocabulary, 4 * width);
    }

    /** The same for another vocabulary. */
    GptConfig withVocabulary(int newVocabulary) {
        return new GptConfig(kind, layers, width, heads, keyHeads, context, isTied, newVocabulary, experts);
    }

    /** The model on a device, whose blocks are built later. */
    LanguageModel model(Device device) {
        return switch (kind) {
            case GPT -> new Gpt2(gpt(), experts, device);
            case LLAMA -> new Llama(llama(), experts, device);
        };
    }

    /** The plan by which tensor parallel ranks share the layers. */
    Map<String, ParallelStyle> tensorParallelPlan() {
        return experts.planOfOthers(
                switch (kind) {
                    case GPT -> gpt().tensorParallelPlan();
                    case LLAMA -> llama().tensorParallelPlan();
                });
    }

    private Gpt2Config gpt() {
        return new Gpt2Config(vocabulary, context, width, layers, heads, 4L * width, EPSILON, isTied);
    }

    private LlamaConfig llama() {
        return new LlamaConfig(
                vocabulary,
                context,
                width,
                layers,
                heads,
                keyHeads,
                width / heads,
                Math.ceilDiv(8L * width / 3, INNER_MULTIPLE) * INNER_MULTIPLE,
                EPSILON,
                ROTARY_BASE,
                isTied,
                false,
                Pairs.HALVES,
                Optional.empty(),
                Activation.SILU,
                false);
    }

    /** The shape in words; a checkpoint of another shape cannot be resumed. */
    String summary() {
        return kind.name().toLowerCase(Locale.ROOT) + ", " + layers + " layers, width " + width + ", " + heads
                + " heads, " + (keyHeads == heads ? "" : keyHeads + " key heads, ") + "context " + context
                + (isTied ? ", tied" : ", untied")
                + (vocabulary == BYTES ? "" : ", " + vocabulary + " tokens")
                + (experts.interval() == 0 ? "" : ", " + experts.options().experts() + " experts")
                + (experts.interval() > 1 ? ", expert interval " + experts.interval() : "");
    }
}
