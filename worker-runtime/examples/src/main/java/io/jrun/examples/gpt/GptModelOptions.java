package io.jrun.examples.gpt;

import io.jrun.trainer.ModelFactory;
import io.jrun.trainer.ModelOptions;
import io.jrun.trainer.arguments.CommandLineArguments;
import java.util.List;
import java.util.stream.Stream;

/** The options of train.jar about its model. */
public final class GptModelOptions implements ModelOptions {
    private static final String HELP = """
              --model=NAME           gpt (GPT-2's layers) or llama  Default: gpt.
              --layers=N             transformer blocks  Default: 3.
              --width=N              size of the hidden state  Default: 128.
              --heads=N              attention heads  Default: 4.
              --key-heads=N          heads of keys and values of a llama; divides --heads  Default: --heads.
              --untied               give the output its own matrix instead of the embedding's
              --experts=N            N feed-forward networks, the experts, in a layer; a router gives each token a few
              --top-k=N              experts of a token  Default: 2.
              --capacity-factor=X    largest share of an expert, as a multiple of an equal share; tokens above are
                                     dropped; 0 for no limit  Default: 1.25.
              --expert-interval=N    every Nth layer has experts  Default: 1.
              --balance-loss=X       weight of the router's load-balancing loss  Default: 0.01.
              --router-z-loss=X      weight of the router's z-loss  Default: 0.
            """;

    @Override
    public List<String> valued() {
        return Stream.concat(GptConfig.VALUED.stream(), ExpertArguments.VALUED.stream())
                .toList();
    }

    @Override
    public List<String> flags() {
        return List.of("--untied");
    }

    @Override
    public String help() {
        return HELP;
    }

    @Override
    public ModelFactory read(CommandLineArguments given) {
        GptConfig config = GptConfig.of(given, given.has("--tiny"));
        ExpertArguments.check(given, config.experts());
        return new GptFactory(config);
    }
}
