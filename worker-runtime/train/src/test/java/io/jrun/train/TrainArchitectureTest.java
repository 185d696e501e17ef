package io.jrun.train;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition;

@AnalyzeClasses(packages = "io.jrun.train", importOptions = DoNotIncludeTests.class)
class TrainArchitectureTest {
    @ArchTest
    static final ArchRule TRAIN_STANDS_ON_COMM_AND_LIBTORCH_ALONE = noClasses()
            .should()
            .dependOnClassesThat()
            .resideOutsideOfPackages(
                    "io.jrun.train..",
                    "io.jrun.comm",
                    "io.jrun.comm.backend",
                    "io.jrun.comm.elastic",
                    "org.bytedeco..",
                    "java..",
                    "org.jspecify..");

    @ArchTest
    static final ArchRule PACKAGES_HAVE_NO_CYCLES = SlicesRuleDefinition.slices()
            .matching("io.jrun.train.(**)")
            .should()
            .beFreeOfCycles();

    @ArchTest
    static final ArchRule DDP_DATA_AND_CHECKPOINTS_DO_NOT_KNOW_EACH_OTHER = noClasses()
            .that()
            .resideInAPackage("io.jrun.train.ddp")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("io.jrun.train.data", "io.jrun.train.checkpoint");

    @ArchTest
    static final ArchRule ONLY_COMM_READS_THE_ENVIRONMENT = noClasses()
            .that()
            .doNotHaveSimpleName("NativeCache") // where the user keeps a cache is no setting of jrun's
            .should()
            .callMethod(System.class, "getenv")
            .orShould()
            .callMethod(System.class, "getenv", String.class)
            .orShould()
            .callMethod(System.class, "exit", int.class)
            .orShould()
            .callMethod(Thread.class, "sleep", long.class);
}
