package io.jrun.trainer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.examples.gpt.GptConfig;
import io.jrun.examples.gpt.GptModelOptions;
import io.jrun.examples.gpt.ModelKind;
import io.jrun.models.transformer.ExpertLayers;
import io.jrun.trainer.arguments.InvalidArgumentException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.assertj.core.data.Offset;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TrainingArgumentsTest {
    @Test
    void everythingHasADefault() {
        TrainingArguments options = GptArguments.parse(new String[0]).orElseThrow();
        assertThat(options.data().data()).isEmpty();
        assertThat(GptArguments.shape(options))
                .isEqualTo(new GptConfig(ModelKind.GPT, 3, 128, 4, 4, 64, true, 256, ExpertLayers.NONE));
        assertThat(options.checkpoints().resume()).isFalse();
    }

    @Test
    void numbersOutOfTheirRangesAreRefusedAlsoFromAProgram() {
        TrainingArguments arguments = GptArguments.parse(new String[0]).orElseThrow();
        assertThatThrownBy(() -> arguments.withSteps(-1)).hasMessage("the number of steps is -1, expected at least 0");
        assertThatThrownBy(() -> arguments.withMicroBatch(0)).hasMessage("the micro-batch is 0, expected at least 1");
        assertThatThrownBy(() -> arguments.withLogEvery(0)).hasMessageContaining("progress lines is 0");
        for (double rate : new double[] {-1, Double.NaN, Double.POSITIVE_INFINITY}) {
            assertThatThrownBy(() -> arguments.withLearningRate(rate))
                    .isInstanceOf(InvalidArgumentException.class)
                    .hasMessage("the learning rate is " + rate + ", expected a number of at least 0");
        }
    }

    @Test
    void bothFormsOfAValueAreRead() {
        TrainingArguments options = GptArguments.parse(new String[] {
                    "--data=a b",
                    "--layers",
                    "3",
                    "--width=96",
                    "--heads=3",
                    "--context",
                    "32",
                    "--untied",
                    "--steps=7",
                    "--checkpoint=out",
                    "--resume",
                    "--sample=9",
                    "--lr=0.5"
                })
                .orElseThrow();
        assertThat(options.data().data()).isEqualTo(Optional.of(Path.of("a b")));
        assertThat(GptArguments.shape(options))
                .isEqualTo(new GptConfig(ModelKind.GPT, 3, 96, 3, 3, 32, false, 256, ExpertLayers.NONE));
        assertThat(options.steps()).isEqualTo(7);
        assertThat(options.checkpoints().location()).isEqualTo(Optional.of("out"));
        assertThat(options.checkpoints().resume()).isTrue();
        assertThat(options.sampling().count()).isEqualTo(9);
        assertThat(options.learningRate()).isEqualTo(0.5);
    }

    @Test
    void tinyChangesOnlyDefaults() {
        TrainingArguments options =
                GptArguments.parse(new String[] {"--tiny", "--layers=1"}).orElseThrow();
        assertThat(GptArguments.shape(options).layers()).isEqualTo(1);
        assertThat(GptArguments.shape(options).width()).isEqualTo(64);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--stpes=3 | unknown option '--stpes=3'. Did you mean '--steps'?",
                "--frobnicate | unknown option '--frobnicate'. See --help. Options of jrun itself, such as --dry-run,"
                        + " belong before the program.",
                "--dry-run | unknown option '--dry-run'. See --help. Options of jrun itself, such as"
                        + " --dry-run, belong before the program.",
                "--timeout=9 | unknown option '--timeout=9'. See --help. Options of jrun itself, such as"
                        + " --dry-run, belong before the program.",
                "-n 4 | unknown option '-n'. See --help. Options of jrun itself, such as"
                        + " --dry-run, belong before the program.",
                "--steps | --steps needs a value",
                "--tensorboard= | --tensorboard needs a value",
                "--ema=1 | --ema is '1.0', expected a number above 0 and below 1",
                "--ema=0.9 --shard=2 --offload=x --optimizer=fused | --precision=f16 and --ema need gradients and"
                        + " parameters in memory: give no --offload",
                "--optimizer=sgd --betas=0.9,0.99 | --betas is an option of AdamW",
                "--momentum=0.9 | --momentum is an option of SGD",
                "--betas=0.9 | --betas is '0.9', expected two numbers with a comma between them",
                "--betas=0.9,1 | --betas is '1', expected 0 or more, and less than 1",
                "--lr-floor=2 | --lr-floor is '2.0', expected a number from 0 to 1",
                "--warmup-curve=cubic | --warmup-curve is 'cubic', expected one of linear, log",
                "--static-graph --shard=2 | --static-graph, --find-unused-parameters, --bucket-cap-mb, --uneven and"
                        + " --ddp-report: only for ranks with whole models, without --shard, --zero, --tp, --cp, --pp and"
                        + " --experts",
                "--update-in-hook --optimizer=fused --clip=0 --tp=2 | --update-in-hook: only for ranks with whole"
                        + " models, without --shard, --zero, --tp, --cp, --pp and --experts",
                "--update-in-hook | --update-in-hook needs --optimizer=fused or fused-sgd",
                "--update-in-hook --optimizer=fused | --update-in-hook updates parameters before the norm of all"
                        + " gradients is known: give --clip=0",
                "--update-in-hook --optimizer=fused --clip=0 --on-nonfinite=skip | --update-in-hook cannot skip a step:"
                        + " give no f16 and no --on-nonfinite",
                "--decay-matrices | --decay-matrices needs --optimizer=fused or fused-sgd",
                "--parameters=bf16 | --parameters=bf16 needs --optimizer=fused or fused-sgd, which have float32 master"
                        + " copies",
                "--parameters=f32x | --parameters is 'f32x', expected one of f32, f64, bf16, f16",
                "--parameters=bf16 --precision=bf16 | --parameters decides the type of the whole computation: give no"
                        + " --precision",
                "--parameters=f64 --precision=bf16 | --parameters decides the type of the whole computation: give no"
                        + " --precision",
                "--parameters=f16 --optimizer=fused --ema=0.9 | --ema averages parameters of float32 or float64: give"
                        + " no --parameters=f16",
                "--parameters=f64 --comm-hook=bf16 | --comm-hook=fp16 and bf16 shorten gradients of float32: give no"
                        + " --parameters=f64",
                "--parameters=bf16 --optimizer=fused --tp=2 | --parameters=bf16: only for ranks with whole models,"
                        + " without --shard, --zero, --tp, --cp, --pp and --experts",
                "--recompute-keep=c_fc | --recompute-keep needs --recompute=N: no block is recomputed",
                "--bucket-cap-mb=1,x | --bucket-cap-mb has 'x', expected whole numbers of at least 1 with commas"
                        + " between them",
                "--uneven=join --steps=3 | --uneven trains once on all of the text: give no --steps",
                "--uneven=stop --accumulate=2 | --uneven has steps without a batch of some ranks: give no f16,"
                        + " --on-nonfinite, --update-in-hook, --accumulate, --local-sgd and --checkpoint",
                "--weight-decay=-1 | --weight-decay is '-1', expected 0 or a number above 0",
                "--precision=fp8 --experts=4 | --precision=fp8 works without --tp and --experts: use --precision=bf16",
                "--precision=fp8 --shard=2 --offload=x --optimizer=fused | --precision=fp8 keeps its scales in"
                        + " checkpoints, which --offload does not write: give no --offload",
                "--precision=fp8 --tp=2 | --precision=fp8 works without --tp and --experts: use --precision=bf16",
                "--precision=f16 --on-nonfinite=skip | float16 skips steps with values that are not finite: give no"
                        + " --on-nonfinite",
                "--precision=fp8 --recompute=1 --recompute-keep=mlp.c_fc | --precision=fp8 replaces the products of"
                        + " linear layers: give no --recompute-keep",
                "--local-sgd=1 --comm-hook=bf16 | --local-sgd is an exchange of gradients by itself: give no"
                        + " --comm-hook",
                "--local-sgd=1 --checkpoint=out | --local-sgd has different parameters on different ranks: give no"
                        + " --checkpoint",
                "--steps=many | --steps is 'many', expected a whole number of at least 0",
                "--micro-batch=0 | --micro-batch is '0', expected a whole number from 1 to 1048576",
                "--lr=-1 | --lr is '-1', expected a number above 0",
                "--precision=f64 | --precision is 'f64', expected one of f32, bf16, f16, fp8",
                "--optimizer=lion | --optimizer is 'lion', expected one of sgd, adamw, fused, fused-sgd",
                "--lr-schedule=step | --lr-schedule is 'step', expected one of cosine, linear, constant, one-cycle",
                "--on-nonfinite=ignore | --on-nonfinite is 'ignore', expected one of stop, skip",
                "--comm-hook=zip | --comm-hook is 'zip', expected one of none, fp16, bf16, powersgd",
                "--clip=-1 | --clip is '-1', expected 0 or a number above 0",
                "--accumulate=0 | --accumulate is '0', expected a whole number from 1 to 1048576",
                "--recompute=all | --recompute is 'all', expected a whole number of at least 0",
                "--peak-flops=fast | --peak-flops is 'fast', expected a number above 0",
                "--heads=3 | --width 128 is not a multiple of --heads 3",
                "--model=llama --key-heads=3 | --heads 4 is not a multiple of --key-heads 3",
                "--key-heads=2 | --key-heads=2 needs --model=llama: each head of GPT-2 has keys of its own",
                "--shard=2 --offload=x --optimizer=fused --out=y | --offload keeps the parameters in its folder:"
                        + " give no --out",
                "--resume | --resume and --checkpoint-every need --checkpoint=LOCATION"
            })
    void mistakesAreOneLineThatSaysWhatToDo(String arguments, String message) {
        assertThatThrownBy(() -> GptArguments.parse(arguments.split(" ", -1)))
                .isInstanceOf(InvalidArgumentException.class)
                .hasMessage(message);
    }

    @Test
    void helpNamesEveryOptionAndItsDefault() {
        assertThat(GptArguments.parse(new String[] {"--help"})).isEmpty();
        TrainingArguments defaults = GptArguments.parse(new String[0]).orElseThrow();
        assertThat(defaultOf("--steps")).isEqualTo(Integer.toString(defaults.steps()));
        assertThat(defaultOf("--micro-batch")).isEqualTo(Integer.toString(defaults.microBatch()));
        assertThat(defaultOf("--lr")).isEqualTo(Double.toString(defaults.learningRate()));
        assertThat(defaultOf("--warmup"))
                .isEqualTo(Integer.toString(defaults.recipe().update().rate().warmup()));
        assertThat(defaultOf("--layers"))
                .isEqualTo(Integer.toString(GptArguments.shape(defaults).layers()));
        assertThat(defaultOf("--width"))
                .isEqualTo(Integer.toString(GptArguments.shape(defaults).width()));
        assertThat(defaultOf("--context"))
                .isEqualTo(Integer.toString(defaults.model().context()));
        assertThat(defaultOf("--max-bytes"))
                .isEqualTo(Long.toString(defaults.data().maxBytes()));
    }

    @Test
    void theLearningRateWarmsUpAndFollowsACosine() {
        TrainingArguments options = GptArguments.parse(new String[] {"--lr=1", "--warmup=10", "--steps=110"})
                .orElseThrow();
        assertThat(options.schedule().at(0)).isEqualTo(0.1);
        assertThat(options.schedule().at(9)).isEqualTo(1.0);
        assertThat(options.schedule().at(10)).isEqualTo(1.0);
        assertThat(options.schedule().at(60)).isCloseTo(0.55, Offset.offset(1e-12));
        assertThat(options.schedule().at(110)).isCloseTo(0.1, Offset.offset(1e-12));
    }

    private static String defaultOf(String option) {
        Matcher line = Pattern.compile("(?m)^ +" + option + "=.* Default: ([0-9.]+?)\\.$")
                .matcher(TrainingArguments.help("", new GptModelOptions()));
        assertThat(line.find()).as(option).isTrue();
        return line.group(1);
    }
}
