package io.jrun.examples.finetune;

import io.jrun.trainer.ModelFactory;
import io.jrun.trainer.ModelOptions;
import io.jrun.trainer.TrainingDefaults;
import io.jrun.trainer.arguments.CommandLineArguments;
import java.util.List;

/** The options of a training of finetune.jar. */
final class FinetuneModelOptions implements ModelOptions {
    private static final int LONGEST_DEFAULT_CONTEXT = 128;
    private static final TrainingDefaults DEFAULTS =
            new TrainingDefaults(100, 4, 1e-4, 0, LONGEST_DEFAULT_CONTEXT, Long.MAX_VALUE, 10);

    private static final String HELP = """
          --model=PATH           Hugging Face folder, or a file of weights (.safetensors, .pth, .bin) with
                                 config.json beside the file
          --read=WHO             ranks that read the files: every-rank, one-per-node or rank-0  Default:
                                 one-per-node.
          --lora=RANK            freeze the model and train adapters of this rank
          --lora-alpha=X         the adapters' outputs are multiplied by X / RANK  Default: twice the rank.
          --lora-targets=A,B     names of the projections, or all-linear for all but the output layer  Default:
                                 q_proj,v_proj for a Llama, c_attn for a GPT-2, query,value for a BERT.
          --adapters=DIR         adapters of --lora, or of PEFT, to train on
          --merge                add the adapters to the weights, and save the model in place of the adapters;
                                 without --data the program merges and ends
          --mask-token=N         the token that a BERT sees in place of a hidden token  Default: [MASK] of the
                                 tokenizer.
          --print-logits=T,T,... print the logits for these tokens as a JSON array, and end: of the last position;
                                 for a BERT one array for each position. With --model, --adapters and --device only
          --generate=TEXT        print the text that follows, and end; with --chat TEXT is a question. With --model,
                                 --adapters, --tokenizer, --chat-template, --temperature, --seed and --device only
          --max-new-tokens=N     tokens of --generate  Default: 128.
        """;

    @Override
    public List<String> valued() {
        return FinetuneOptions.VALUED;
    }

    @Override
    public List<String> flags() {
        return FinetuneOptions.FLAGS;
    }

    @Override
    public String help() {
        return HELP;
    }

    /** {@code --tiny} changes nothing: the model is given. */
    @Override
    public TrainingDefaults defaults(boolean isTiny) {
        return DEFAULTS;
    }

    @Override
    public ModelFactory read(CommandLineArguments given) {
        FinetuneOptions options = FinetuneOptions.of(given);
        FinetuneOptions.refuse(
                !given.has("--data"), "give --data=PATH to train, or --print-logits=T,T,... to print logits");
        PretrainedModel model = PretrainedModel.describe(options, _ -> {});
        FinetuneOptions.refuse(
                !model.description().isCausal() && given.has("--chat"),
                "--chat is for a GPT-2 or a Llama: a BERT answers no questions");
        FinetuneOptions.refuse(
                model.description().isCausal() && given.has("--mask-token"),
                "--mask-token is for a BERT: a GPT-2 and a Llama learn to predict the next token");
        boolean sharesSequences = given.number("--cp", 1, 1) > 1 || given.has("--sequence-parallel");
        FinetuneOptions.refuse(
                !model.description().isCausal() && sharesSequences,
                "--cp and --sequence-parallel work with a GPT-2 or a Llama: a BERT needs whole sequences");
        return model;
    }
}
