package io.jrun.examples.gpt;

import io.jrun.models.transformer.ExpertLayers;
import io.jrun.train.expert.ExpertOptions;
import io.jrun.trainer.arguments.CommandLineArguments;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.util.List;
import java.util.stream.Stream;

/** The options of train.jar about experts. */
final class ExpertArguments {
    static final List<String> VALUED = List.of(
            "--experts", "--top-k", "--capacity-factor", "--expert-interval", "--balance-loss", "--router-z-loss");

    private static final String RANKS = "--ep";

    private ExpertArguments() {}

    /** The layers with experts of a model of this many layers. */
    static ExpertLayers layers(CommandLineArguments given, int layers) {
        int experts = given.number("--experts", 0, 1, 10_000);
        if (experts == 0) {
            Stream.concat(VALUED.stream(), Stream.of(RANKS))
                    .filter(given::has)
                    .findFirst()
                    .ifPresent(name -> refuse(true, name + " needs --experts=N: the model has no experts"));
            return ExpertLayers.NONE;
        }
        int interval = given.number("--expert-interval", 1, 1);
        int topK = given.number("--top-k", Math.min(2, experts), 1);
        refuse(
                interval > layers,
                "--expert-interval=" + interval + " leaves a model of " + layers + " layers without experts");
        refuse(topK > experts, "--top-k=" + topK + " is more than --experts=" + experts);
        return new ExpertLayers(
                interval,
                new ExpertOptions(
                        experts,
                        topK,
                        given.zeroOrMore("--capacity-factor", 1.25),
                        given.zeroOrMore("--balance-loss", 0.01),
                        given.zeroOrMore("--router-z-loss", 0)));
    }

    /** Refuses options that do not work with experts. */
    static void check(CommandLineArguments given, ExpertLayers layers) {
        int ranks = given.number(RANKS, 1, 1);
        if (layers.interval() > 0) {
            int experts = layers.options().experts();
            refuse(
                    experts % ranks != 0,
                    "--ep=" + ranks + " does not divide --experts=" + experts
                            + ": each rank has an equal part of the experts");
        }
    }

    private static void refuse(boolean isUnsupported, String message) {
        if (isUnsupported) {
            throw new InvalidArgumentException(message);
        }
    }
}
